// All scenarios in the order of their execution: one for each client requirement of the contract.
import type { Scenario } from './scenario.ts'
import { cancellationScenarios } from './scenarios/cancellation.ts'
import { eventScenarios } from './scenarios/job-events.ts'
import { snapshotScenarios } from './scenarios/job-snapshots.ts'
import { stateScenarios } from './scenarios/job-states.ts'
import { keepAliveScenarios } from './scenarios/keep-alive.ts'
import { correlationScenarios } from './scenarios/reply-correlation.ts'
import { socketScenarios } from './scenarios/socket-failures.ts'
import { submissionScenarios } from './scenarios/submissions.ts'
import { tokenIdAndUploadScenarios } from './scenarios/tokens-ids-and-uploads.ts'
import { toleranceScenarios } from './scenarios/unknown-data-tolerance.ts'

export const scenarios: readonly Scenario[] = [
  ...correlationScenarios,
  ...toleranceScenarios,
  ...eventScenarios,
  ...snapshotScenarios,
  ...stateScenarios,
  ...socketScenarios,
  ...keepAliveScenarios,
  ...submissionScenarios,
  ...cancellationScenarios,
  ...tokenIdAndUploadScenarios,
]
