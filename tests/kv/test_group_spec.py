"""Cache groups as data."""

from sim.kv.group_spec import GroupSpec, aligned_tokens, even_groups, full_group, hash_tokens

WINDOW = GroupSpec("sliding_window", 32, 100)


def test_what_all_groups_have_in_common() -> None:
    groups = [WINDOW, GroupSpec("full", 16)]
    assert (hash_tokens(groups), aligned_tokens(groups), full_group(groups)) == (16, 32, 1)
    assert full_group([WINDOW]) is None


def test_a_model_with_recurrent_layers_has_its_attention_last() -> None:
    assert [group.kind for group in even_groups(800, 3)] == ["recurrent"] * 3 + ["full"]
    assert even_groups(16) == (GroupSpec("full", 16),)
