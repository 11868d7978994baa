//! Ranks of this process, each in a thread, over real connections.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use ndarray::Array2;
use wb_core::fingerprint::Fingerprint;
use wb_encoder::{
    Backbone, DeviceConfig, Dropout, Gradients, LostRank, Model, OpenDevice, Parameters, TokenBatch, Upstream,
    self_test,
};

use crate::{Launcher, Member, OtherRanks, Placement, join, serve};

const LIMIT: Duration = Duration::from_secs(20);

fn cpu() -> OpenDevice {
    DeviceConfig::Cpu.open().unwrap()
}

fn placement(rank: usize, ranks: usize, port: u16) -> Placement {
    Placement { launcher: Launcher::Torch, rank, ranks, local: None, host: "127.0.0.1".into(), port }
}

fn member(rank: usize, ranks: usize) -> Member {
    Member {
        rank,
        ranks,
        host: format!("host{rank}"),
        build: "wb 1".into(),
        experiment: Fingerprint::of_bytes(b"experiment"),
        device: DeviceConfig::Cpu,
        description: "cpu (test)".into(),
        number: (0, 1),
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Lets two other ranks serve, the second with two devices, while `work` is done by rank 0.
fn with_ranks(work: impl FnOnce(&OtherRanks)) {
    let port = free_port();
    thread::scope(|scope| {
        let serving = |(rank, number)| {
            let member = Member { number, ..member(rank, 3) };
            let place = join(&placement(rank, 3, port), &member, LIMIT, &mut |_| {}).unwrap();
            serve(&place, &cpu()).unwrap()
        };
        // The last first: they come in any order.
        let others = [(2, (1, 2)), (1, (0, 1)), (2, (0, 2))].map(|device| scope.spawn(move || serving(device)));
        let group = OtherRanks::gather(&placement(0, 3, port), &member(0, 3), LIMIT, &mut |_| {}).unwrap();
        work(&group);
        group.end(7);
        assert!(others.into_iter().all(|other| other.join().unwrap() == 7));
    });
}

fn model() -> (Model, TokenBatch) {
    let (mut model, batch) = self_test::made_up_model();
    // Some weights train and some do not.
    model.parameters.iter_mut().enumerate().for_each(|(at, weight)| weight.trainable = at % 3 != 1);
    (model, batch)
}

/// Embeddings, states, and gradients of two passes that are brought together once.
fn step(backbone: &dyn Backbone, batch: &TokenBatch) -> (Array2<f32>, Array2<f32>, Gradients) {
    let mut gradients = Gradients::zeros(backbone.parameters());
    let (first, tape) = backbone.embed_tracked(batch, Some(Dropout { seed: 3 })).unwrap();
    backbone.backward(tape, first.view(), &mut gradients).unwrap();
    let (_, states, tape) = backbone.embed_tokens_tracked(batch, None).unwrap();
    backbone.backward_tokens(tape, Upstream::states(states.view()), &mut gradients).unwrap();
    let again = backbone.track_again(batch, Some(Dropout { seed: 3 })).unwrap();
    backbone.backward(again, first.view(), &mut gradients).unwrap();
    backbone.collect_gradients(&mut gradients).unwrap();
    (first, states, gradients)
}

#[test]
fn three_ranks_give_the_bytes_of_one_process_with_their_devices() {
    let (model, batch) = model();
    let four = cpu().beside(vec![cpu(), cpu(), cpu()]);
    let mut here = four.open_backbone(model.clone()).unwrap();
    with_ranks(|group| {
        assert_eq!(group.devices().collect::<Vec<_>>(), [DeviceConfig::Cpu; 3]);
        let device = cpu().with_far(group.far());
        assert!(device.descriptions().ends_with(") + cpu (test) + cpu (test) + cpu (test)") && device.same_bytes());
        let mut far = device.open_backbone(model.clone()).unwrap();
        assert_eq!(step(&*far, &batch), step(&*here, &batch));
        assert_eq!(group.sums(), [1, 1, 1], "one sum a step");
        // Weights that changed are there with the next pass; other models do not disturb.
        let other = device.open_backbone(model.clone()).unwrap();
        let change = |parameters: &mut Parameters| {
            for weight in parameters.iter_mut().filter(|weight| weight.trainable) {
                weight.values.floats_mut().iter_mut().for_each(|value| *value = *value * 0.9 + 0.01);
            }
        };
        far.update(&mut { change }).unwrap();
        here.update(&mut { change }).unwrap();
        assert_eq!(far.embed(&batch).unwrap(), here.embed(&batch).unwrap());
        assert_eq!(far.embed_tokens(&batch).unwrap(), here.embed_tokens(&batch).unwrap());
        assert_ne!(other.embed(&batch).unwrap(), here.embed(&batch).unwrap());
        drop(other);
        // What was dropped or forgotten is in no sum.
        drop(far.embed_tracked(&batch, None).unwrap());
        let (embeddings, tape) = far.embed_tracked(&batch, None).unwrap();
        far.backward(tape, embeddings.view(), &mut Gradients::zeros(far.parameters())).unwrap();
        far.forget_gradients();
        assert_eq!(step(&*far, &batch), step(&*here, &batch));
        // Checkpointing gives the same bytes, and what cannot be is an error with the rank's name.
        far.set_gradient_checkpointing(true).unwrap();
        assert_eq!(step(&*far, &batch), step(&*here, &batch));
        let (_, tape) = far.embed_tracked(&batch, None).unwrap();
        let wrong = Array2::zeros((batch.len(), far.dim() + 1));
        assert!(far.backward(tape, wrong.view(), &mut Gradients::zeros(far.parameters())).is_err());
        far.forget_gradients();
        let no = wb_encoder::Precision::Bf16;
        assert!(far.set_precision(no).is_err());
    });
}

#[test]
fn a_rank_that_is_gone_is_told_at_once_on_both_sides() {
    let (model, batch) = model();
    let port = free_port();
    let started = Instant::now();
    thread::scope(|scope| {
        let other = scope.spawn(move || join(&placement(1, 2, port), &member(1, 2), LIMIT, &mut |_| {}));
        let group = OtherRanks::gather(&placement(0, 2, port), &member(0, 2), LIMIT, &mut |_| {}).unwrap();
        let place = other.join().unwrap().unwrap();
        let gone = scope.spawn(move || {
            let device = cpu().with_far(group.far());
            let far = thread::scope(|inner| {
                let opened = inner.spawn(|| device.open_backbone(model));
                // Takes the model and dies.
                drop(place.link().receive().unwrap());
                drop(place);
                opened.join().unwrap()
            });
            far.err().unwrap()
        });
        let error = gone.join().unwrap();
        assert!(error.kind::<LostRank>().is_some());
        assert_eq!(error.to_string(), "rank 1 on host1 has ended");
        assert!(error.hint().unwrap().contains("goes on from the last whole step"));
        drop(batch);
    });
    // And without its end being told, rank 0 that dies.
    let port = free_port();
    let error = thread::scope(|scope| {
        let other = scope.spawn(move || {
            let place = join(&placement(1, 2, port), &member(1, 2), LIMIT, &mut |_| {})?;
            serve(&place, &cpu())
        });
        drop(OtherRanks::gather(&placement(0, 2, port), &member(0, 2), LIMIT, &mut |_| {}).unwrap());
        other.join().unwrap().unwrap_err()
    });
    assert!(error.kind::<LostRank>().is_some());
    assert_eq!(error.to_string(), format!("rank 0 at 127.0.0.1:{port} has ended"));
    assert!(started.elapsed() < Duration::from_secs(15), "within seconds");
}

#[test]
fn strangers_are_left_outside_and_others_are_told_why() {
    let refused = |change: &dyn Fn(&mut Member)| {
        let port = free_port();
        let mut other = member(1, 2);
        change(&mut other);
        let (started, limit) = (Instant::now(), Duration::from_secs(2));
        thread::scope(|scope| {
            let first =
                scope.spawn(move || OtherRanks::gather(&placement(0, 2, port), &member(0, 2), limit, &mut |_| {}));
            let stranger = || loop {
                match TcpStream::connect(("127.0.0.1", port)) {
                    Ok(stream) => return stream,
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            };
            // Neither who says something else nor who says nothing at all matters.
            stranger().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            let _silent = stranger();
            let found = join(&placement(1, 2, port), &other, LIMIT, &mut |_| {});
            let first = first.join().unwrap();
            assert!(started.elapsed() < Duration::from_secs(5));
            (first.map(drop), found.map(drop))
        })
    };
    assert!(matches!(refused(&|_| {}), (Ok(()), Ok(()))));
    for (change, expected) in [
        (
            &(|it: &mut Member| it.build = "wb 2".into()) as &dyn Fn(&mut Member),
            "another build than rank 0 on host0: wb 2, wb 1",
        ),
        (&|it| it.experiment = Fingerprint::of_bytes(b"other"), "another experiment than rank 0"),
        (&|it| it.ranks = 4, "another number of ranks than rank 0 on host0: 4, 2"),
        (&|it| it.number = (1, 1), "another number of devices than rank 0 on host0: 1, expected more than 1"),
        (&|it| it.rank = 2, "another place than rank 0 on host0: rank 2, expected 1 to 1"),
    ] {
        let (first, other) = refused(change);
        let (first, other) = (first.unwrap_err(), other.unwrap_err());
        assert!(other.to_string().contains(expected), "{other}");
        assert!(first.to_string().starts_with("rank 1 of 2 did not come to 127.0.0.1:"), "{first}");
        assert!(first.to_string().contains(expected), "{first}");
        assert!([first, other].iter().all(|error| error.kind::<LostRank>().is_none()), "trying again does not help");
    }
}

#[test]
fn a_rank_may_begin_again_before_all_have_met() {
    let port = free_port();
    thread::scope(|scope| {
        let first = scope.spawn(move || OtherRanks::gather(&placement(0, 3, port), &member(0, 3), LIMIT, &mut |_| {}));
        let joined = |rank| join(&placement(rank, 3, port), &member(rank, 3), LIMIT, &mut |_| {}).unwrap();
        drop(joined(1));
        let _places = [joined(1), joined(2)];
        assert_eq!(first.join().unwrap().unwrap().devices().count(), 2);
    });
}

#[test]
fn who_does_not_come_is_told_and_waited_for_no_longer_than_said() {
    let port = free_port();
    let short = Duration::from_millis(300);
    let error = OtherRanks::gather(&placement(0, 3, port), &member(0, 3), short, &mut |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("rank 1, 2 of 3 did not come to 127.0.0.1:"), "{error}");
    let error = join(&placement(1, 2, port), &member(1, 2), short, &mut |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("rank 0 was not found at 127.0.0.1:") && error.kind::<LostRank>().is_some());
    // A port that somebody has.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = OtherRanks::gather(&placement(0, 2, port), &member(0, 2), short, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("cannot listen at port") && error.hint().unwrap().contains("MASTER_PORT"));
    // One rank alone needs nobody, and no port.
    assert_eq!(
        OtherRanks::gather(&placement(0, 1, port), &member(0, 1), short, &mut |_| {}).unwrap().devices().count(),
        0
    );
}

#[test]
fn a_listener_that_is_silent_is_no_rank_0() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = silent.accept().unwrap();
            stream.write_all(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n").unwrap();
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).ok();
        });
        let error = join(&placement(1, 2, port), &member(1, 2), Duration::from_millis(200), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("rank 0 was not found"), "{error}");
    });
}
