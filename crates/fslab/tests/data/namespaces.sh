# Two hosts as network namespaces, joined by a bridge in a third: `namespaces.sh up|cut|down NAME FOLDER`. `cut` takes the second one's
# link away, so that the node is lost and says nothing. In FOLDER then are `openmpi` and
# `mpich`, launchers that take the number of ranks and a command; `rsh` is what they call in place of ssh.
set -eu
verb=$1
N=$2
D=$3
if [ "$verb" = down ]; then
  for n in h1 h2 sw; do ip netns del "$N-$n" 2>/dev/null || true; done
  exit 0
fi
if [ "$verb" = cut ]; then
  exec ip -n "$N-sw" link set p2 down
fi
ip netns add "$N-sw"
ip -n "$N-sw" link add br0 type bridge
ip -n "$N-sw" link set br0 up
for i in 1 2; do
  ip netns add "$N-h$i"
  ip link add eth0 netns "$N-h$i" type veth peer name p$i netns "$N-sw"
  ip -n "$N-h$i" link set lo up
  ip -n "$N-h$i" addr add 10.99.0.$i/24 dev eth0
  ip -n "$N-h$i" link set eth0 up
  ip -n "$N-sw" link set p$i master br0 up
done
cat > "$D/rsh" <<E
#!/bin/bash
while [[ \$1 == -* ]]; do shift; done
h=\$1
shift
i=\${h##*.}
exec ip netns exec $N-h\$i unshare -u bash -c "hostname h\$i; cd '$D'; exec \$*"
E
cat > "$D/openmpi" <<E
#!/bin/bash
n=\$1
shift
exec ip netns exec $N-h1 unshare -u bash -c "hostname h1; exec mpirun.openmpi --mca plm_rsh_agent '$D/rsh' --mca btl tcp,self \
  --mca mpi_yield_when_idle 1 --mca oob_tcp_if_include 10.99.0.0/24 --mca btl_tcp_if_include 10.99.0.0/24 \
  --host 10.99.0.1:2,10.99.0.2:2 -np \$n \$*"
E
cat > "$D/mpich" <<E
#!/bin/bash
n=\$1
shift
exec ip netns exec $N-h1 unshare -u bash -c "hostname h1; exec mpirun.mpich -launcher ssh -launcher-exec '$D/rsh' -iface eth0 \
  -hosts 10.99.0.1,10.99.0.2 -ppn 2 -np \$n \$*"
E
chmod +x "$D/rsh" "$D/openmpi" "$D/mpich"
