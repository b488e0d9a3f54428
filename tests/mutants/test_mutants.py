"""Mutants that are out of date would be tried in vain."""

import ast

import pytest

from tests.mutants.mutant import ROOT, Mutant, read_mutants

MUTANTS = read_mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.says)
def test_a_mutant_is_another_program_and_its_tests_are_there(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    mistaken = mutant.mutated(text)
    assert ast.dump(ast.parse(mistaken)) != ast.dump(ast.parse(text))
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert (ROOT / file).exists(), file
        assert name.rpartition("::")[2] in (ROOT / file).read_text(encoding="utf-8") if name else True


def test_there_are_many_and_each_has_a_name() -> None:
    names = {mutant.says for mutant in MUTANTS}
    assert len(names) == len(MUTANTS) >= 40


def test_an_old_text_that_is_not_there_once_is_out_of_date() -> None:
    mutant = Mutant(says="it", file="sim/x.py", old="a", new="b", tests=("tests/test_x.py",))
    assert mutant.mutated("a c") == "b c"
    for text in ("c", "a a"):
        with pytest.raises(ValueError, match="not once"):
            mutant.mutated(text)
