// What becomes of a call of the client: it is examined, and answered as the script says or else as usual.
import { answer } from './answers.ts'
import type { Call, CallName } from './call.ts'
import { examine } from './checks.ts'
import { REPORT_WORKFLOW } from './records.ts'
import type { Scenario, Turn } from './scenario.ts'
import type { Stage } from './stage.ts'

export function receive(call: Call, stage: Stage, scenario: Scenario): void {
  stage.connected = true
  stage.calls.push({ name: call.name, entry: call.entry, door: call.door })
  examine(call, stage)
  const turn = isScripted(call, stage) ? turnOf(call.name, stage, scenario) : undefined
  if (turn && !scenario.late) stage.reach()
  stage.act(() => (turn ?? answer)(call, stage))
}

/** Whether a script may have a say: not in reports, and not in what names a job that there is not. */
function isScripted({ data }: Call, { jobs }: Stage): boolean {
  if (data.workflow_id === REPORT_WORKFLOW) return false
  if (data.job_id === undefined) return true
  const job = jobs.get(String(data.job_id))
  return job !== undefined && job.facts.workflow_id !== REPORT_WORKFLOW
}

function turnOf(name: CallName, stage: Stage, { play }: Scenario): Turn | undefined {
  const asked = name === 'getJob' ? 'get_job_snapshot' : name
  const turns = play.calls?.[asked]
  return typeof turns === 'function' ? turns : turns?.[stage.count(`turn ${asked}`) - 1]
}
