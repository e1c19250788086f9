use super::*;
use crate::model::{Request, run_alone};

const DISK: &str = "[device.d]\nkind = \"disk\"\ncapacity = \"300 GB\"\nrpm = 15000\n\
    seek_ms = { track = 0.2, average = 3.5, full = 7.4 }\n\
    rate = { outer = \"125 MB/s\", inner = \"73 MB/s\" }\nsurfaces = 8\n";

fn refused(text: &str) -> String {
    Catalogue::default()
        .add("my.toml", text)
        .unwrap_err()
        .to_string()
}

#[test]
fn every_shipped_device_can_be_built_and_read() {
    let catalogue = Catalogue::shipped().unwrap();
    assert!(catalogue.devices().count() >= 18);
    for device in catalogue.devices() {
        let mut model = catalogue.model(&device.name, Variation::Nominal).unwrap();
        let last = model.capacity() - 4096;
        let done = run_alone(&mut *model, 0, Request::read(1, last, 4096));
        assert!(
            (20_000..40_000_000).contains(&done),
            "{}: {done} ns",
            device.name
        );
        assert!(!device.stands_for.is_empty(), "{}", device.name);
    }
}

#[test]
fn a_host_sends_flushes_where_a_cache_would_lose_writes() {
    let catalogue = Catalogue::shipped().unwrap();
    let volatile = |name: &str| {
        let model = catalogue.model(name, Variation::Nominal).unwrap();
        model.has_volatile_cache()
    };
    // Drives of desktops cache writes, those of servers do not; a controller with a battery keeps what it caches.
    for (name, is_volatile) in [
        ("7k500", true),
        ("7k500x4", true),
        ("nvme-2018", true),
        ("cheetah-15k.5", false),
        ("cheetah-15k.5x8", false),
        ("lun-2011", false),
    ] {
        assert_eq!(volatile(name), is_volatile, "{name}");
    }
}

#[test]
fn the_studies_have_their_hardware() {
    let catalogue = Catalogue::shipped().unwrap();
    let capacity = |name| {
        catalogue
            .model(name, Variation::Nominal)
            .unwrap()
            .capacity() as f64
    };
    assert!((capacity("piszcz-raid0") / 11.0 / 500e9 - 1.0).abs() < 0.001);
    assert!((capacity("piszcz-raid5") / 10.0 / 500e9 - 1.0).abs() < 0.001);
    assert!((capacity("dokos") / 56.0 / 300e9 - 1.0).abs() < 0.001);
    assert!((capacity("layton-72t") / 184.0 / 450e9 - 1.0).abs() < 0.001);
    for study in [
        "dokos2008",
        "wohlgemuth2009",
        "piszcz2010",
        "mushran2011",
        "layton2012",
    ] {
        let named = |device: &Device| device.studies.iter().any(|name| name == study);
        assert!(catalogue.devices().any(named), "{study}");
    }
}

#[test]
fn a_name_stripes_1_to_1024_devices() {
    let catalogue = Catalogue::shipped().unwrap();
    assert!(catalogue.device("7k500x1024").is_ok());
    for name in ["7k500x0", "7k500x1025", "7k500x99999999999"] {
        let error = catalogue.device(name).unwrap_err().to_string();
        assert!(error.contains("7k500xN is 1 to 1,024 of them"), "{error}");
    }
}

#[test]
fn zones_stand_for_the_inner_rate() {
    let mut catalogue = Catalogue::default();
    let zoned = DISK.replace(
        "inner = \"73 MB/s\" }",
        "zones = [[0, 1000], [500, 600]] }\ncylinders = 1000",
    );
    catalogue.add("my.toml", &zoned).unwrap();
    let limits = crate::limits(|| catalogue.model("d", Variation::Nominal)).unwrap();
    let [outer, _, inner] = limits.sequential;
    assert!((outer / 125e6 - 1.0).abs() < 0.01, "{limits:?}");
    assert!((inner / outer - 0.6).abs() < 0.01, "{limits:?}");
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (change, line, words) in [
        (("outer = \"125 MB/s\", ", ""), 6, "`rate.outer` is missing"),
        (("rpm = 15000", "rpm = \"fast\""), 4, "expected a number"),
        (
            ("rpm = 15000", "rpm = 15000\nqueue = -1"),
            5,
            "a whole number of 0",
        ),
        (("\"73 MB/s\"", "\"1 B/s\""), 6, "at least 1 kB/s"),
        (
            (
                "surfaces = 8",
                "surfaces = 8 # cylinders = N\ncylinders = 1",
            ),
            8,
            "`cylinders`: 1 must be",
        ),
        (
            ("surfaces = 8", "surfaces = 8\nstands_for = \"a\\nb\""),
            8,
            "`stands_for` must be one line",
        ),
        (("surfaces = 8", "surfases = 8"), 7, "surfases"),
        (("rpm = 15000", "rpm = 1"), 4, "`rpm`: 1 must be between"),
        (("average = 3.5", "average = 2.0"), 5, "0.334"),
        (("inner = \"73", "inner = \"173"), 6, "must not be above"),
        (("\"300 GB\"", "\"300 XB\""), 3, "is not a size"),
        (
            ("surfaces = 8", "level = 0\nsurfaces = 8"),
            7,
            "`level` is not a key of this kind",
        ),
        (
            (
                "surfaces = 8",
                "surfaces = 8\nsource = { rats = \"assumed\" }",
            ),
            1,
            "rate",
        ),
        (
            (
                "surfaces = 8",
                "surfaces = 8\nsource = { rate = \"guess\" }",
            ),
            1,
            "must begin with",
        ),
        (("surfaces = 8\n", ""), 1, "`surfaces` is missing"),
        (
            (
                "inner = \"73 MB/s\" }",
                "zones = [[0, 100], [500, 1000]] }\ncylinders = 1000",
            ),
            6,
            "an inner zone must not have more sectors",
        ),
        (
            (
                "inner = \"73 MB/s\" }",
                "inner = \"73 MB/s\", zones = [[0, 1000], [500, 100]] }\ncylinders = 1000",
            ),
            6,
            "follows from `rate.zones`",
        ),
        (
            (
                "surfaces = 8",
                "surfaces = 8\ncontroller = { request_ms = 0.1, read_ahead = 4 }",
            ),
            8,
            "`controller.read_ahead` needs",
        ),
        (
            (
                "surfaces = 8",
                "surfaces = 8\ncontroller = { request_ms = 0.1, unit = \"1g\", read_ahead = 5 }",
            ),
            8,
            "together more than 4 GiB",
        ),
    ] {
        assert!(DISK.contains(change.0));
        let error = refused(&DISK.replace(change.0, change.1));
        assert!(error.starts_with(&format!("my.toml:{line}: ")), "{error}");
        assert!(error.contains(words), "{error}");
        assert!(!error.contains('\n'));
    }
}

#[test]
fn members_must_exist_and_not_contain_each_other() {
    let array = |name: &str, member: &str| {
        format!(
            "[device.{name}]\nkind = \"array\"\nlevel = 0\nchunk = \"64k\"\nmembers = \"2 x {member}\"\n"
        )
    };
    assert!(refused(&array("a", "nothing")).contains("no device is named \"nothing\""));
    let circle = format!("{}{}", array("a", "b"), array("b", "a"));
    assert!(refused(&circle).contains("contain each other"));
    // Addresses of more would not fit 64 bits; nor would those of a name that stripes.
    let large = DISK.replace("\"300 GB\"", "1152921504606846976");
    let error = refused(&format!("{large}{}", array("a", "d").replace("2 x", "9 x")));
    assert!(
        error.contains("`members`: together more than 8 EiB"),
        "{error}"
    );
    let mut catalogue = Catalogue::default();
    catalogue.add("large.toml", &large).unwrap();
    assert!(catalogue.device("dx8").is_ok());
    let error = catalogue.device("dx9").unwrap_err().to_string();
    assert!(error.contains("8 EiB"), "{error}");
    let mut catalogue = Catalogue::default();
    catalogue.add("d.toml", DISK).unwrap();
    catalogue.add("a.toml", &array("a", "d")).unwrap();
    assert_eq!(
        catalogue.model("a", Variation::Nominal).unwrap().capacity() / 1_000_000_000,
        599
    );
}

#[test]
fn a_volume_has_members_of_several_kinds() {
    let volume = |level: &str, members: &str| {
        format!("[device.v]\nkind = \"array\"\nlevel = {level}\nmembers = \"{members}\"\n")
    };
    let of = |level: &str, members: &str| {
        let mut catalogue = Catalogue::shipped().unwrap();
        catalogue
            .add("v.toml", &volume(level, members))
            .map(|_| catalogue)
    };
    let catalogue = of("\"linear\"", "2 x 7k500 + 1 x nvme-2018").unwrap();
    let capacity = |name: &str| {
        catalogue
            .model(name, Variation::Nominal)
            .unwrap()
            .capacity()
    };
    assert_eq!(capacity("v"), 2 * capacity("7k500") + capacity("nvme-2018"));
    let mut model = catalogue.model("v", Variation::Nominal).unwrap();
    let last = run_alone(&mut *model, 0, Request::read(1, capacity("v") - 4096, 4096));
    assert!(last < 200_000, "the last member is flash: {last}");
    let shown = catalogue.device("v").unwrap().described();
    let shown: Vec<(&str, &str)> = shown
        .iter()
        .map(|row| (row.key, row.value.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            ("level", "linear"),
            ("members", "2 x 7k500 + 1 x nvme-2018")
        ]
    );
    let wrong = |level: &str, members: &str| of(level, members).unwrap_err().to_string();
    assert!(wrong("\"liner\"", "1 x 7k500").contains("v.toml:3: \"liner\" is no level"));
    assert!(wrong("3", "1 x 7k500").contains("\"3\" is no level"));
    assert!(wrong("\"linear\"\nchunk = 4096", "1 x 7k500").contains("`chunk` has no meaning"));
    for members in [
        "",
        "7k500",
        "1 x 7k500 +",
        "x",
        "2000 x 7k500",
        "-1 x 7k500",
        "0 x 7k500",
        "1 x 7k500 + 0 x 7k500",
    ] {
        assert!(
            wrong("\"linear\"", members).contains("`members`: "),
            "{members}"
        );
    }
    assert!(wrong("\"linear\"", "1 x 7k500 + 1 x v").contains("contain each other"));
}

#[test]
fn a_chunk_that_no_member_holds_is_refused() {
    let small = DISK.replace("300 GB", "2 MB");
    let array = |chunk: &str| {
        format!(
            "{small}[device.v]\nkind = \"array\"\nlevel = 0\nchunk = \"{chunk}\"\nmembers = \"2 x d\"\n"
        )
    };
    let error = refused(&array("4m"));
    assert!(
        error.contains("device v: `chunk` is larger than the smallest member"),
        "{error}"
    );
    Catalogue::default().add("my.toml", &array("1m")).unwrap();
}

#[test]
fn an_array_is_looked_at_again_when_its_member_is_replaced() {
    let mut catalogue = Catalogue::shipped().unwrap();
    let many =
        "[device.7k500]\nkind = \"array\"\nlevel = \"linear\"\nmembers = \"1000 x t7k250\"\n";
    let error = catalogue.add("my.toml", many).unwrap_err().to_string();
    assert!(
        error.contains("device piszcz-raid0: `members`: 11000 disks are more than"),
        "{error}"
    );
}

#[test]
fn a_number_after_a_name_stripes_it() {
    let catalogue = Catalogue::shipped().unwrap();
    let one = catalogue
        .model("t7k250", Variation::Nominal)
        .unwrap()
        .capacity();
    let four = catalogue
        .model("t7k250x4", Variation::Nominal)
        .unwrap()
        .capacity();
    assert_eq!(four, one / 65536 * 65536 * 4);
    let error = catalogue.device("t7k25O").unwrap_err().to_string();
    assert!(error.contains("did you mean t7k250?"), "{error}");
    assert!(catalogue.device("t7k250x0").is_err());
}

#[test]
fn drawn_figures_differ_by_seed_and_only_by_it() {
    let catalogue = Catalogue::shipped().unwrap();
    let time = |seed| {
        let mut model = catalogue
            .model("barracuda-es.2", Variation::Drawn(seed))
            .unwrap();
        run_alone(&mut *model, 0, Request::read(1, 500_000_000_000, 4096))
    };
    assert_eq!(time(1), time(1));
    assert_ne!(time(1), time(2));
}

#[test]
fn drives_of_one_model_have_the_same_drawn_figures() {
    let catalogue = Catalogue::shipped().unwrap();
    // Sequential rates depend on no phase: an array of one model streams as many times faster as it has members, also where the
    // figures are drawn. Drawn for each drive alone it would be as slow as the worst of them.
    for seed in 1..6 {
        let rate = |name| {
            crate::limits(|| catalogue.model(name, Variation::Drawn(seed)))
                .unwrap()
                .sequential[0]
        };
        let ratio = rate("7k500x8") / rate("7k500");
        assert!((7.9..8.1).contains(&ratio), "{ratio}");
    }
}

#[test]
fn a_fitted_time_contains_the_command_times_below_it() {
    let array = |source: &str| {
        format!(
            "{}\n[device.a]\nkind = \"array\"\nlevel = 0\nchunk = \"64k\"\nmembers = \"1 x d\"\n\
             controller = {{ request_ms = 0.3, source = \"{source}\" }}\n",
            // What is extracted is not drawn: command times and phases are, and a look-ahead that holds both reads.
            DISK.replace(
                "surfaces = 8",
                "surfaces = 8\nsource = { seek_ms = \"extracted\", rate = \"extracted\", interface = \"extracted\" }"
            )
        )
    };
    // A second read where the first one was: the look-ahead has it, and what it takes is command and controller.
    let spread = |source: &str, variation: fn(u64) -> Variation| {
        let mut catalogue = Catalogue::default();
        catalogue.add("a.toml", &array(source)).unwrap();
        let took = |seed| {
            let mut model = catalogue.model("a", variation(seed)).unwrap();
            let first = run_alone(&mut *model, 0, Request::read(1, 0, 4096));
            let later = first + 1_000_000_000;
            run_alone(&mut *model, later, Request::read(2, 4096, 4096)) - later
        };
        let times: Vec<u64> = (1..20).map(took).collect();
        times.iter().max().unwrap() - times.iter().min().unwrap()
    };
    let fitted = spread("fitted: something", Variation::Drawn);
    assert!(fitted < 1000, "{fitted}");
    assert!(spread("extracted: something", Variation::Drawn) > 200_000);
    assert!(spread("fitted: something", Variation::DrawnWithout) > 200_000);
}

#[test]
fn a_study_stands_for_its_hardware_where_that_is_one_device() {
    let catalogue = Catalogue::shipped().unwrap();
    for (study, device) in [
        ("dokos2008", "dokos"),
        ("wohlgemuth2009", "disk-2009"),
        ("mushran2011", "lun-2011"),
    ] {
        assert_eq!(catalogue.device(study).unwrap().name, device);
        assert!(catalogue.model(study, Variation::Nominal).is_ok());
    }
    let error = catalogue.device("piszcz2010").unwrap_err().to_string();
    assert!(error.contains("piszcz-raid0 and piszcz-raid5"), "{error}");
}

/// The largest of twenty drawn times by the smallest.
fn range(text: &str, name: &str, took: impl Fn(&mut dyn Model) -> u64) -> f64 {
    let mut catalogue = Catalogue::default();
    catalogue.add("parts.toml", text).unwrap();
    let times: Vec<u64> = (1..=20)
        .map(|seed| took(&mut *catalogue.model(name, Variation::Drawn(seed)).unwrap()))
        .collect();
    *times.iter().max().unwrap() as f64 / *times.iter().min().unwrap() as f64
}

#[test]
fn a_part_of_a_figure_with_a_source_of_its_own_is_drawn_from_that() {
    let disk = |sources: &str| {
        let sources = format!("surfaces = 8\nsource = {{ {sources} }}");
        DISK.replace("surfaces = 8", &sources)
    };
    // From edge to edge: nearly a full stroke. Turns and commands are the same share of both.
    let stroke = |model: &mut dyn Model| {
        let end = model.capacity() - 4096;
        let first = run_alone(model, 0, Request::read(1, 0, 4096));
        run_alone(model, first, Request::read(2, end, 4096)) - first
    };
    let known = "seek_ms = 'extracted', rate = 'extracted', command_ms = 'extracted'";
    let whole = range(&disk(known), "d", stroke);
    let part = range(
        &disk(&format!("{known}, 'seek_ms.full' = 'assumed'")),
        "d",
        stroke,
    );
    assert!(part > whole * 1.05, "{part} {whole}");
    let mut catalogue = Catalogue::default();
    let text = disk(
        "seek_ms = 'published: a manual', 'seek_ms.full' = 'assumed', 'rate.inner' = 'assumed'",
    );
    catalogue.add("parts.toml", &text).unwrap();
    let device = catalogue.device("d").unwrap();
    let assumed: Vec<&str> = device.assumed().collect();
    assert!(
        assumed.contains(&"seek_ms.full") && !assumed.contains(&"seek_ms"),
        "{assumed:?}"
    );
    let described = device.described();
    let seek = described.iter().find(|row| row.key == "seek_ms").unwrap();
    assert_eq!(seek.of, "a manual, full assumed");
    // Drawn apart, the inner rate stays below the outer one, and a stroke takes longer than a track.
    for seed in 0..200 {
        catalogue.model("d", Variation::Drawn(seed)).unwrap();
    }
    let wrong = disk("'seek_ms.half' = 'assumed'");
    let error = Catalogue::default().add("parts.toml", &wrong).unwrap_err();
    assert!(error.to_string().contains("seek_ms.half"), "{error}");
}

#[test]
fn the_link_of_an_ssd_is_drawn() {
    let ssd = |source: &str| {
        format!(
            "[device.s]\nkind = 'ssd'\ncapacity = '1 GB'\nbuffer = '8m'\n\
             flash = {{ channels = 8, dies = 4, page = '32k', read_us = 10, program_us = 100, channel_rate = '4 GB/s' }}\n\
             firmware_us = {{ read = 1, write = 1 }}\nlink = {{ rate = '100 MB/s', source = '{source}' }}\n\
             source = {{ flash = 'extracted', firmware_us = 'extracted', buffer = 'extracted' }}\n"
        )
    };
    let read = |model: &mut dyn Model| run_alone(model, 0, Request::read(1, 0, 1 << 20));
    assert!(range(&ssd("extracted"), "s", read) < 1.001);
    assert!(range(&ssd("assumed"), "s", read) > 1.15);
}

const REFERENCE: &str = include_str!("../../../../docs/device-files.md");

/// The reader of device files names the keys that it knows where one is unknown.
#[test]
fn the_reference_has_every_key_and_its_examples_are_device_files() {
    let known = |table: &str| {
        let text = format!("[device.d]\nkind = \"disk\"\n{table}");
        let mut catalogue = Catalogue::default();
        let error = catalogue.add("d.toml", &text).unwrap_err().to_string();
        let (_, keys) = error.split_once("expected ").unwrap();
        let keys = keys.split('`').skip(1).step_by(2).map(str::to_owned);
        keys.collect::<Vec<_>>()
    };
    let mut found = 0;
    for table in [
        "",
        "seek_ms",
        "rate",
        "cache",
        "flash",
        "firmware_us",
        "controller",
        "link",
    ] {
        let unknown = match table {
            "" => "x = 1".to_owned(),
            table => format!("{table} = {{ x = 1 }}"),
        };
        for key in known(&unknown) {
            // A part of a table follows its name, or stands alone in a section of its own.
            let named = [format!("`{key}`"), format!(".{key}`"), format!("{key} =")];
            let is_there = named.iter().any(|name| REFERENCE.contains(name));
            assert!(is_there, "{table}: {key} is not in docs/device-files.md");
            found += 1;
        }
    }
    assert!(found > 50, "{found}");
    let examples = REFERENCE.split("```toml\n").skip(1);
    let examples: Vec<&str> = examples
        .filter_map(|text| text.split("```").next())
        .collect();
    assert!(examples.len() >= 4);
    for example in examples {
        let mut catalogue = Catalogue::shipped().unwrap();
        catalogue.add("example.toml", example).unwrap();
    }
}
