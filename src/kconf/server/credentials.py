"""DescribeUserScramCredentials (50) and AlterUserScramCredentials (51): KIP-554."""

from __future__ import annotations

from kconf.engine.credentials import describe_credentials, plan_alter_credentials, user_resource
from kconf.errors import ErrorCode, Failure, NotAuthorized, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.plan import Plan
from kconf.model.scram import Deletion, Upsertion
from kconf.server.context import Call, Context, not_kept
from kconf.service import State
from kconf.wire.alter_user_scram_credentials import (
    AlteredScramUser,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from kconf.wire.describe_user_scram_credentials import (
    DescribedScramUser,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramCredentialInfo,
)

_REFUSED = Failure(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NotAuthorized.stock)


def handle_describe(
    context: Context, request: DescribeUserScramCredentialsRequest, call: Call
) -> DescribeUserScramCredentialsResponse:
    if not call.authorise(Operation.DESCRIBE, AclType.CLUSTER, CLUSTER_NAME):
        return DescribeUserScramCredentialsResponse(error_code=_REFUSED.code, error_message=_REFUSED.message)
    users = None if request.users is None else [each.name for each in request.users]
    found = describe_credentials(context.service.state.snapshot, users)
    return DescribeUserScramCredentialsResponse(
        error_message="",
        results=[
            DescribedScramUser(user, infos.code, infos.message)
            if isinstance(infos, Failure)
            else DescribedScramUser(user, 0, "", [ScramCredentialInfo(*each) for each in infos])
            for user, infos in found.items()
        ],
    )


async def handle_alter(
    context: Context, request: AlterUserScramCredentialsRequest, call: Call
) -> AlterUserScramCredentialsResponse:
    deletions = [Deletion(each.name, each.mechanism) for each in request.deletions]
    upsertions = [
        Upsertion(each.name, each.mechanism, each.iterations, each.salt, each.salted_password)
        for each in request.upsertions
    ]
    users = sorted({each.user for each in deletions} | {each.user for each in upsertions})
    outcomes: dict[str, Failure | None]

    def planner(state: State) -> Plan[dict[str, Failure | None]]:
        return plan_alter_credentials(state.snapshot, deletions, upsertions)

    if not call.authorise(Operation.ALTER, AclType.CLUSTER, CLUSTER_NAME):
        outcomes = dict.fromkeys(users, _REFUSED)
    else:
        try:
            outcomes = await context.service.change(planner, call.caller)
        except StoreError as error:
            outcomes = dict.fromkeys(users, not_kept(error))
    if any(outcomes.values()):
        lines = ((user_resource(user), (), failure) for user, failure in outcomes.items())
        context.attempts.note(call.caller, lines, dry_run=False)
    return AlterUserScramCredentialsResponse(
        results=[
            AlteredScramUser(user, failure.code if failure else 0, failure.message if failure else None)
            for user, failure in outcomes.items()
        ]
    )
