# Three nodes of Slurm on this machine, on loopback alone, in the folder $1. Ready when this ends.
set -eu
D=$1
H=$(hostname -s)
PATH=$PATH:/usr/sbin:/sbin
mkdir -p "$D"/{run,state,log,spool} "$D"/tmp/n{1,2,3}
# munged refuses folders that others may write.
chmod 755 "$D" "$D"/{run,log}
head -c 1024 /dev/urandom > "$D/munge.key"
chmod 600 "$D/munge.key"
cat > "$D/slurm.conf" <<C
ClusterName=fslabtest
SlurmctldHost=$H(127.0.0.1)
SlurmctldPort=16817
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthInfo=socket=$D/run/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool/%n
TmpFS=$D/tmp/%n
SlurmctldPidFile=$D/run/slurmctld.pid
SlurmdPidFile=$D/run/slurmd-%n.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SlurmdTimeout=10
ReturnToService=2
NodeName=n[1-3] NodeHostname=$H NodeAddr=127.0.0.1 Port=[16821-16823] CPUs=2 RealMemory=1000
PartitionName=test Nodes=n[1-3] Default=YES MaxTime=30 State=UP
C
export SLURM_CONF=$D/slurm.conf
munged --force --key-file="$D/munge.key" --socket="$D/run/munge.socket" --pid-file="$D/run/munged.pid" \
  --log-file="$D/log/munged.log" --seed-file="$D/run/seed"
slurmctld -f "$SLURM_CONF"
for i in 1 2 3; do slurmd -N n$i -f "$SLURM_CONF"; done
for _ in $(seq 100); do
  [ "$(sinfo -h -t idle -o %D)" = 3 ] && exit 0
  sleep 0.1
done
echo "three nodes are not idle after 10 s" >&2
exit 1
