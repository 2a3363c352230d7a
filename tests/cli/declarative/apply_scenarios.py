"""Scenarios for `apply`, on kconf and on brokers, like those in scenarios.py."""

from __future__ import annotations

from tests.cli.commands.scenarios import People, a_name

EVERYTHING = """
topics:
  {name}: {{partitions: 1, replication: 1, configs: {{retention.ms: 9d}}}}
users:
  {name}: {{SCRAM-SHA-256: {{passwordFrom: {{file: {password}}}}}}}
quotas:
- user: {name}
  limits: {{request_percentage: 12.5}}
acls:
- {{principal: "User:{name}", resource: "topic:{name}", operations: [READ]}}
"""
OWNED = "selector: ['topic:{name}', 'user:{name}', 'quota:{name}', 'acl:User:{name}']\n"


def the_reason_is_recorded_for_everything(people: People) -> None:
    name = a_name("r")
    people.add_context("recorded", journal=str(people.directory / "journal"))
    files = people.directory / "declared.yaml"
    prune = "--prune=topics,users,quotas,acls --allow-data-loss"

    password = people.directory / "password"
    password.write_text("hunter2-planted")
    password.chmod(0o600)
    for text, reason in ((EVERYTHING, "ticket 12"), (OWNED, "ticket 13")):
        files.write_text(text.format(name=name, password=password))
        people(f"apply -f {files} -C recorded --yes --reason '{reason}' {prune if text is OWNED else ''}")

    found = [each for each in people.items("history -C recorded") if name in each["resource"]]
    kinds = ("acl", "quota", "topic", "user")
    assert {(_kind(each["resource"]), each["reason"]) for each in found} == {
        (kind, reason) for kind in kinds for reason in ("ticket 12", "ticket 13")
    }


def a_plan_right_after_apply_shows_nothing_of_it(people: People) -> None:
    """Create many topics, then add partitions and change values of all; the test itself never waits."""
    name = a_name("w")
    files = people.directory / "declared.yaml"
    for partitions, days in ((1, 9), (2, 10)):
        shape = f"{{partitions: {partitions}, replication: 1, configs: {{retention.ms: {days}d}}}}"
        topics = "\n".join(f"  {name}.{number}: {shape}" for number in range(150))
        quota = f"quotas:\n- user: {name}\n  limits: {{request_percentage: {days}}}"
        acls = f"acls:\n- {{principal: 'User:{name}{days}', resource: 'topic:{name}', operations: [READ]}}"
        files.write_text(f"topics:\n{topics}\n{quota}\n{acls}\n")
        people(f"apply -f {files} --yes")
        assert people.items(f"plan -f {files}") == []
    files.write_text(f"selector: ['topic:{name}.*']\n")
    people(f"apply -f {files} --prune=topics --max-deletes 300 --yes --allow-data-loss")
    assert people.items(f"plan -f {files} --prune=topics --max-deletes 300") == []


def _kind(resource: str) -> str:
    word = resource.partition(":")[0]
    return {"scram": "user"}.get(word, word)


APPLY_SCENARIOS = (the_reason_is_recorded_for_everything, a_plan_right_after_apply_shows_nothing_of_it)
