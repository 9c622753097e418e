"""Warnings of metrics, and functions as tokenizers."""

import copy
import pickle
import warnings

import pytest
import torch

import tally

HINDI = "प्रधानमन्त्री शिंजो"


def warned(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [str(each.message) for each in caught if each.category is UserWarning]


def test_a_warning_is_a_user_warning_given_once():
    rouge = tally.ROUGEScore(rouge_keys=["rouge1"])
    rouge.update(["a", HINDI], ["a", HINDI])
    rouge.update([HINDI], [HINDI])
    (text,) = warned(rouge.compute)
    assert "ROUGEScore: a text with letters has no tokens in 2 of 3 rows, first row 1" in text
    rouge.update([HINDI], [HINDI])
    assert not warned(rouge.compute)
    rouge.reset()
    rouge.update([HINDI], [HINDI])
    assert warned(rouge.compute)


def test_a_filter_makes_it_an_error_and_nothing_is_lost():
    loss = tally.MulticlassLogLoss(num_classes=2)
    loss.update(torch.tensor([[0.5, 0.49]]), torch.tensor([0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="do not add up to 1"):
            loss.compute()
    assert loss.update_count == 1
    loss.compute()


def test_collections_and_other_objects_warn():
    metrics = tally.MetricCollection({"loss": tally.MeanMetric()})
    metrics.update(torch.tensor([1.0, float("nan")]))
    assert "loss: NaN was ignored in 1 of 2 rows" in warned(metrics.compute)[0]
    slices = tally.SlicedMetric(tally.MeanMetric())
    slices.update(["a", "b"], torch.tensor([1.0, float("nan")]))
    assert "NaN was ignored" in warned(slices.compute)[0]


def test_tokenizers():
    def value(tokenizer, preds, target):
        rouge = tally.ROUGEScore(rouge_keys=["rouge1"], tokenizer=tokenizer)
        rouge.update(preds, target)
        return float(rouge.compute()["rouge1_fmeasure"])

    assert value("unicode", HINDI, HINDI) == 1
    assert value("characters", "今天", "今夜") == 0.5
    assert value(lambda line: line.split(","), "a,B", "b,a") == 0.5
    assert value(str.split, ["a b", "c"], [["a b", "x"], ["c", "d"]]) == 1


def test_a_function_as_tokenizer_is_called_by_all_ways_in():
    by_dash = tally.ROUGEScore(rouge_keys=["rougeLsum"], tokenizer=split_dashes)
    assert float(by_dash("a-b\nc", "c\na-b")["rougeLsum_fmeasure"]) == 1
    by_dash.update(preds="a-b", target="a-c")
    copies = [by_dash.clone(), copy.deepcopy(by_dash), pickle.loads(pickle.dumps(by_dash))]
    for each in copies:
        each.update(["a-b"], ["a-b"])
        assert float(each.compute()["rougeLsum_fmeasure"]) == pytest.approx(2.5 / 3)


def split_dashes(line):
    return line.split("-")


def test_bad_tokenizers_are_refused():
    def update(function):
        tally.ROUGEScore(tokenizer=function).update("a", "a")

    with pytest.raises(TypeError, match="expected a list of tokens, got a str"):
        update(lambda line: line)
    with pytest.raises(TypeError, match="tokens of type str, got int"):
        update(lambda line: [1])
    with pytest.raises(ValueError, match="without white space, got 'a b'"):
        update(lambda line: ["a b"])
    rouge = tally.ROUGEScore(tokenizer=str.split)
    for make in (
        lambda: tally.MetricCollection([rouge]),
        lambda: tally.SlicedMetric(rouge),
        lambda: tally.Running(metric=rouge),
        rouge.registry_text,
    ):
        with pytest.raises(ValueError, match="which would not call it"):
            make()
