// Every requirement with its check. A requirement without a check does not compile.
import type { ServerRequirementId } from '../../../generated/requirements.ts'
import { accessChecks } from './checks/access.ts'
import { capabilityChecks } from './checks/capabilities.ts'
import type { RequirementCheck } from './checks/check-types.ts'
import { claimChecks } from './checks/claims.ts'
import { discoveryChecks } from './checks/discovery.ts'
import { errorChecks } from './checks/errors.ts'
import { eventChecks } from './checks/events.ts'
import { httpChecks } from './checks/http.ts'
import { preflightChecks } from './checks/preflight.ts'
import { resultChecks } from './checks/results.ts'
import { runChecks } from './checks/runs.ts'
import { socketChecks } from './checks/socket.ts'
import { stateChecks } from './checks/states.ts'
import { submissionChecks } from './checks/submission.ts'
import { uploadChecks } from './checks/uploads.ts'

export const serverChecks: Readonly<Record<ServerRequirementId, RequirementCheck>> = {
  ...claimChecks,
  ...accessChecks,
  ...capabilityChecks,
  ...discoveryChecks,
  ...preflightChecks,
  ...uploadChecks,
  ...submissionChecks,
  ...stateChecks,
  ...resultChecks,
  ...eventChecks,
  ...runChecks,
  ...socketChecks,
  ...httpChecks,
  ...errorChecks,
}
