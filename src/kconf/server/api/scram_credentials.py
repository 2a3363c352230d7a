"""DescribeUserScramCredentials (50) and AlterUserScramCredentials (51): KIP-554."""

from __future__ import annotations

from kconf.engine.access.scram_credentials import describe_credentials, plan_alter_credentials, user_resource
from kconf.engine.policy.hooks import PolicyHooks
from kconf.errors import ApiError, ErrorCode, KafkaError, NotAuthorized, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.plan import Plan
from kconf.model.scram import UserScramCredentialDeletion, UserScramCredentialUpsertion
from kconf.protocol.messages.alter_user_scram_credentials import (
    AlteredScramUser,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from kconf.protocol.messages.describe_user_scram_credentials import (
    DescribedScramUser,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramCredentialInfo,
)
from kconf.server.api.reasons import with_reason
from kconf.server.context import ApiRequest, ServerContext, store_error
from kconf.service import State

_REFUSED = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NotAuthorized.stock)


def handle_describe(
    context: ServerContext, request: DescribeUserScramCredentialsRequest, call: ApiRequest
) -> DescribeUserScramCredentialsResponse:
    if not call.authorize(Operation.DESCRIBE, AclType.CLUSTER, CLUSTER_NAME):
        return DescribeUserScramCredentialsResponse(error_code=_REFUSED.code, error_message=_REFUSED.message)
    users = None if request.users is None else [each.name for each in request.users]
    found = describe_credentials(context.service.state.snapshot, users)
    return DescribeUserScramCredentialsResponse(
        error_message="",
        results=[
            DescribedScramUser(user, infos.code, infos.message)
            if isinstance(infos, ApiError)
            else DescribedScramUser(user, 0, "", [ScramCredentialInfo(*each) for each in infos])
            for user, infos in found.items()
        ],
    )


async def handle_alter(
    context: ServerContext, request: AlterUserScramCredentialsRequest, call: ApiRequest
) -> AlterUserScramCredentialsResponse:
    deletions = [UserScramCredentialDeletion(each.name, each.mechanism) for each in request.deletions]
    upsertions = [
        UserScramCredentialUpsertion(each.name, each.mechanism, each.iterations, each.salt, each.salted_password)
        for each in request.upsertions
    ]
    users = sorted({each.user for each in deletions} | {each.user for each in upsertions})
    outcomes: dict[str, ApiError | None]

    def plan(state: State, _hooks: PolicyHooks) -> Plan[dict[str, ApiError | None]]:
        return plan_alter_credentials(state.snapshot, deletions, upsertions)

    if not call.authorize(Operation.ALTER, AclType.CLUSTER, CLUSTER_NAME):
        outcomes = dict.fromkeys(users, _REFUSED)
    else:
        try:
            call = with_reason(call, request.reason)
            outcomes = await context.service.submit(plan, call.caller)
        except StoreError as error:
            outcomes = dict.fromkeys(users, store_error(error))
        except KafkaError as error:
            outcomes = dict.fromkeys(users, error.failure())
    if any(outcomes.values()):
        entries = ((user_resource(user), (), failure) for user, failure in outcomes.items())
        context.audit_log.record(call.caller, entries, dry_run=False)
    return AlterUserScramCredentialsResponse(
        results=[
            AlteredScramUser(user, failure.code if failure else 0, failure.message if failure else None)
            for user, failure in outcomes.items()
        ]
    )
