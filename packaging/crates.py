#!/usr/bin/env python3
"""Lists what is linked into a release: for licences, and as a bill of materials.

usage: packaging/crates.py sbom [static|dynamic]     CycloneDX 1.5, JSON
       packaging/crates.py licenses                  the licence texts of all that is linked in
       packaging/crates.py copyright                 debian/copyright, machine-readable (DEP-5)

The crates are those that `cargo tree` names for the feature `release` on this machine's target, without tests' and
build scripts' and without procedural macros. Nothing is fetched. The output depends on Cargo.lock, the crates'
own files and the commit alone, so it is the same wherever it is made.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
LICENCE_FILE = re.compile(r"(?i)^(licen[cs]e|copying|copyright|notice|unlicense)([.\-_].*)?$")
UPLOT = ROOT / "crates/report/vendor/uplot"


def run(*words):
    return subprocess.run(words, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout


def host():
    return re.search(r"^host: (.*)$", run("rustc", "-vV"), re.M).group(1)


def linked():
    """The packages of `cargo metadata` that are linked in, and their dependencies by id."""
    target = host()
    features = ["--features", "fslab/release", "--locked", "--offline"]
    tree = run(CARGO, "tree", "-p", "fslab", *features, "--target", target, "--edges", "normal,no-proc-macro",
               "--prefix", "none", "--format", "{p}")
    named = {tuple(line.split()[:2]) for line in tree.splitlines() if line.strip()}
    metadata = json.loads(run(CARGO, "metadata", "--format-version", "1", *features, "--filter-platform", target))
    packages = [p for p in metadata["packages"] if (p["name"], "v" + p["version"]) in named]
    missing = named - {(p["name"], "v" + p["version"]) for p in packages}
    if missing:
        sys.exit(f"packaging/crates.py: cargo metadata does not list {sorted(missing)}")
    ids = {p["id"] for p in packages}
    edges = {node["id"]: [d["pkg"] for d in node["deps"]
                          if d["pkg"] in ids and any(k["kind"] is None for k in d["dep_kinds"])]
             for node in metadata["resolve"]["nodes"] if node["id"] in ids}
    return sorted(packages, key=lambda p: (p["name"], p["version"])), edges


def foreign(packages):
    return [p for p in packages if p["source"]]


def spdx(package):
    """The licence as an SPDX expression; a slash is the old way to write OR."""
    text = package["license"] or ""
    return re.sub(r"\s*/\s*", " OR ", text)


def sqlite_version(packages):
    [sys_crate] = [p for p in packages if p["name"] == "libsqlite3-sys"]
    header = Path(sys_crate["manifest_path"]).parent / "sqlite3/sqlite3.h"
    return re.search(r'#define SQLITE_VERSION\s+"(.*)"', header.read_text()).group(1)


def uplot_version():
    return re.search(r"^# uPlot (\S+)", (UPLOT / "README.md").read_text()).group(1)


# --- bill of materials ---

def sbom(kind):
    packages, edges = linked()
    checksums = {(p["name"], p["version"]): p.get("checksum")
                 for p in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
    version = run("packaging/version", "number").strip()
    commit = run("packaging/version", "commit").strip()
    epoch = int(run("packaging/version", "epoch"))
    top = f"pkg:generic/fslab@{version}?commit={commit}"

    def ref(package):
        if package["name"] == "fslab" and not package["source"]:
            return top
        place = "" if package["source"] else f"?commit={commit}"
        return f"pkg:cargo/{package['name']}@{package['version']}{place}"

    def component(package):
        one = {"type": "library", "bom-ref": ref(package), "name": package["name"], "version": package["version"]}
        if package["source"]:
            one["purl"] = ref(package)
            checksum = checksums.get((package["name"], package["version"]))
            if checksum:
                one["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        one["licenses"] = [{"expression": spdx(package)}]
        if package.get("repository"):
            one["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
        return one

    extra = [
        {"type": "library", "name": "sqlite", "version": sqlite_version(packages), "licenses": [{"license": {"id": "blessing"}}]},
        {"type": "library", "name": "uPlot", "version": uplot_version(), "licenses": [{"license": {"id": "MIT"}}]},
    ]
    if kind == "static":
        glibc = run("getconf", "GNU_LIBC_VERSION").split()[1]
        extra.append({"type": "library", "name": "glibc", "version": glibc,
                      "licenses": [{"license": {"id": "LGPL-2.1-or-later"}}]})
    for one in extra:
        one["bom-ref"] = one["purl"] = f"pkg:generic/{one['name']}@{one['version']}"
    by_id = {p["id"]: p for p in packages}
    depends = [{"ref": ref(by_id[i]), "dependsOn": sorted(ref(by_id[d]) for d in of)} for i, of in edges.items()]
    for one in depends:
        if one["ref"] == top:
            one["dependsOn"] += [e["bom-ref"] for e in extra]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"{top}#{kind}").urn,
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "bom-ref": top, "name": "fslab", "version": version, "purl": top,
                          "licenses": [{"expression": "MIT OR Apache-2.0"}]},
        },
        "components": [component(p) for p in packages if ref(p) != top] + extra,
        "dependencies": sorted(depends, key=lambda one: one["ref"]) + [{"ref": e["bom-ref"], "dependsOn": []} for e in extra],
    }
    print(json.dumps(document, indent=1, ensure_ascii=False))


# --- licences ---

def texts(package):
    """The licence files of a crate: name and text, by name."""
    folder = Path(package["manifest_path"]).parent
    names = sorted(f for f in folder.iterdir() if f.is_file() and LICENCE_FILE.match(f.name))
    found = [(f.name, f.read_text(errors="replace").strip()) for f in names]
    return [(name, text) for name, text in found if text]


def licences():
    packages, _ = linked()
    print("""What is linked into fslab, and its licences.

fslab itself is licensed under MIT or Apache-2.0, at your option: see its copyright file.
SQLite is in the public domain (https://sqlite.org/copyright.html).
The Rust standard library is licensed under MIT or Apache-2.0 (https://github.com/rust-lang/rust).
The static program also contains parts of the GNU C library (LGPL-2.1-or-later) and of libgcc (GPL-3.0-or-later with
the GCC runtime library exception), unchanged, as the distribution has them that it was built on. To link it with
another version of them, build it from fslab's source on a system that has that version: packaging/build static.
""")
    seen, without = {}, []
    whole = [(f"uPlot {uplot_version()}", "MIT", [("LICENSE", (UPLOT / "LICENSE").read_text().strip())])]
    for package in foreign(packages):
        whole.append((f"{package['name']} {package['version']}", spdx(package), texts(package)))
    for title, licence, files in whole:
        print("=" * 78, f"{title}: {licence}", sep="\n")
        if not files:
            without.append(title)
            print("The crate comes without a licence file; the licence's general text applies.")
        for name, text in files:
            digest = hashlib.sha256(re.sub(r"\s+", " ", text).encode()).digest()
            if digest in seen:
                print(f"{name}: as {seen[digest]}")
            else:
                seen[digest] = f"{name} of {title}"
                print("-" * 78, f"{name}:", text, sep="\n")
    print(f"{len(whole)} works, {len(seen)} texts, {len(without)} without a file: {', '.join(without)}", file=sys.stderr)


GENERAL = {
    "Expat": None,
    "Apache-2.0": "On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.",
    "Apache-2.0 with LLVM exception": "On Debian systems the text of Apache-2.0 is in /usr/share/common-licenses/Apache-2.0.\n"
    "The LLVM exception allows to ship object code without sections 4(a), 4(b) and 4(d).",
    "CC0-1.0": "On Debian systems the text is in /usr/share/common-licenses/CC0-1.0.",
}
ELSEWHERE = "The text, as each work has it, is in /usr/share/doc/fslab/third-party-licences.gz."


def debian(licence):
    """An SPDX expression in the words of DEP-5."""
    text = licence.replace("Apache-2.0 WITH LLVM-exception", "Apache-2.0 with LLVM exception")
    text = re.sub(r"\bMIT\b", "Expat", text)
    return text.replace(" OR ", " or ").replace(" AND ", " and ").replace("(", "").replace(")", "") \
        if " AND " not in text else debian_and(text)


def debian_and(text):
    """`(A OR B) AND C`, which DEP-5 writes `A or B, and C`."""
    left, right = text.split(" AND ")
    return f"{debian(left)}, and {debian(right)}"


def short_names(licence):
    return [name for name in re.split(r",? and |\bor\b", licence) for name in [name.strip()] if name]


def holders(package):
    """Who holds the copyright: as the licence files have it, else the authors that the crate names."""
    found = []
    for _, text in texts(package):
        for line in text.splitlines():
            line = line.strip(" #*/\t")
            if re.match(r"(?i)^copyright\s+(\(c\)|©|\d{4}|the )", line) and "[yyyy]" not in line and "{yyyy}" not in line:
                line = re.sub(r"(?i)^copyright\s*", "", line).strip()
                if line not in found:
                    found.append(line)
    if found:
        return found[:4]
    return package["authors"][:4] or [f"the authors of {package['name']}"]


def field(name, values):
    return f"{name}: " + "\n ".join(re.sub(r"\s+", " ", value) for value in values)


def paragraph(text):
    return "\n".join(" " + (line.strip() or ".") for line in text.splitlines())


def debian_copyright():
    packages, _ = linked()
    mit = (ROOT / "LICENSE-MIT").read_text()
    grant = mit[mit.index("Permission is hereby granted"):].strip()
    out = ["Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: fslab\n"
           "Comment: The program is linked with the crates below. All licence texts are in\n"
           " /usr/share/doc/fslab/third-party-licences.gz."]
    holder = re.search(r"Copyright \(c\) (.*)", mit).group(1)
    out.append(f"Files: *\nCopyright: {holder}\nLicense: Expat or Apache-2.0")
    uplot = re.search(r"Copyright \(c\) (.*)", (UPLOT / "LICENSE").read_text()).group(1)
    out.append(f"Files: crates/report/vendor/uplot/*\nCopyright: {uplot}\nLicense: Expat")
    names = {"Expat", "Apache-2.0", "public-domain"}
    out.append("Files: vendor/sqlite/*\nCopyright: none\nLicense: public-domain")
    for package in foreign(packages):
        licence = debian(spdx(package))
        names.update(short_names(licence))
        out.append("\n".join([f"Files: vendor/{package['name']}-{package['version']}/*",
                              field("Copyright", holders(package)), f"License: {licence}"]))
    for name in sorted(names):
        text = grant if name == "Expat" else GENERAL.get(name)
        if name == "public-domain":
            text = "The authors of SQLite gave it into the public domain: https://sqlite.org/copyright.html"
        out.append(f"License: {name}\n{paragraph(text or ELSEWHERE)}")
    print("\n\n".join(out))


def main():
    words = sys.argv[1:]
    match words:
        case ["sbom"]:
            sbom("dynamic")
        case ["sbom", "static" | "dynamic" as kind]:
            sbom(kind)
        case ["licences"]:
            licences()
        case ["copyright"]:
            debian_copyright()
        case _:
            sys.exit(__doc__.split("\n\n")[1])


if __name__ == "__main__":
    main()
