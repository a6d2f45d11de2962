// Handles a call of the client: validates it, and answers it by the script or else by default.

import type { ClientCall, ClientCallName } from './call.ts'
import { validateCall } from './call-validation.ts'
import { replyByDefault } from './default-replies.ts'
import type { CallHandler, Scenario } from './scenario.ts'
import type { ScenarioRun } from './scenario-run.ts'
import { REPORT_WORKFLOW } from './server-records.ts'

export function dispatchCall(call: ClientCall, run: ScenarioRun, scenario: Scenario): void {
  run.hasConnected = true
  run.calls.push({ name: call.name, entry: call.entry, transport: call.transport })
  validateCall(call, run)
  const turn = canBeScripted(call, run) ? findScriptedHandler(call.name, run, scenario) : undefined
  if (turn && !scenario.isReachedByScript) run.markStepReached()
  run.runScript(() => (turn ?? replyByDefault)(call, run))
}

/** Whether a script may handle the call. It does not handle reports, and calls that name an unknown job. */
function canBeScripted({ data }: ClientCall, { jobs }: ScenarioRun): boolean {
  if (data.workflow_id === REPORT_WORKFLOW) return false
  if (data.job_id === undefined) return true
  const job = jobs.get(String(data.job_id))
  return job !== undefined && job.facts.workflow_id !== REPORT_WORKFLOW
}

function findScriptedHandler(name: ClientCallName, run: ScenarioRun, { script }: Scenario): CallHandler | undefined {
  const asked = name === 'getJob' ? 'get_job_snapshot' : name
  const turns = script.calls?.[asked]
  return typeof turns === 'function' ? turns : turns?.[run.countOccurrence(`turn ${asked}`) - 1]
}
