// What is asked of every call, whatever the scenario.
import { commandValidators } from '../../../generated/validators.js'
import type { Call } from './call.ts'
import { REPORT_WORKFLOW } from './records.ts'
import { bodyOf, type Stage } from './stage.ts'
import type { Fields } from './wire.ts'

const TERMINAL: readonly unknown[] = ['completed', 'failed', 'cancelled']
/** The HTTP operations whose body is the data of the command. Commands are examined where they arrive. */
const BODIES: readonly string[] = ['submit_job', 'preflight_workflow', 'get_workflow_interfaces']
/** Clocks of two sides differ by so much at most over a second. */
const TOLERANCE_MS = 50

type CommandName = keyof typeof commandValidators.ws

export function examine(call: Call, stage: Stage): void {
  const problem =
    call.door === 'http' && BODIES.includes(call.name)
      ? problemOf({ command: call.name, data: call.data, request_id: 'x' })
      : null
  if (problem) stage.violate(`${call.name} is not what its schema says: ${problem}`, call.entry)
  if ((stage.notBefore.get(call.name) ?? 0) - TOLERANCE_MS > performance.now()) {
    stage.violate(`${call.name} came again before the time that Retry-After gave`, call.entry)
  }
  if (call.name === 'submit_job') examineSubmission(call, stage)
  if (call.name === 'runWorkflow' && call.data.workflow_id === REPORT_WORKFLOW)
    takeReport(call.data.params, call, stage)
  if (call.name === 'subscribe_job') examineSubscription(call, stage)
}

/** What the schema of a command has against it, or null. */
export function problemOf(frame: Fields): string | null {
  const { command } = frame
  if (!isCommand(command)) return `there is no command ${JSON.stringify(command)}`
  const validate = commandValidators.ws[command]
  if (validate(frame)) return null
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`).join('; ')
}

function isCommand(name: unknown): name is CommandName {
  return typeof name === 'string' && Object.hasOwn(commandValidators.ws, name)
}

function examineSubmission(call: Call, stage: Stage): void {
  const { data } = call
  if (data.workflow_id === REPORT_WORKFLOW) return takeReport(data.inputs, call, stage)
  const submission = {
    key: String(data.idempotency_key),
    etag: String(data.workflow_etag),
    body: bodyOf(data),
    door: call.door,
  }
  const same = stage.submissions.find(({ key }) => key === submission.key)
  stage.submissions.push(submission)
  const keys = new Set(stage.submissions.map(({ key }) => key)).size
  const etagKnown = stage.refusedEtags.has(submission.etag)
  if (etagKnown) stage.violate('the job was submitted again with the etag that had been refused', call.entry)
  else if (same && same.body !== submission.body && !stage.facts.keys) {
    stage.violate('the job was submitted again under the same key with another body', call.entry)
  } else if (keys > (stage.facts.keys ?? 1)) {
    stage.violate('the job was submitted again under another key', call.entry)
  }
}

function takeReport(inputs: unknown, call: Call, stage: Stage): void {
  const { status = null, value = null, events = null } = (inputs ?? {}) as Fields
  const jobs = [...stage.jobs.values()].filter(({ facts }) => facts.workflow_id !== REPORT_WORKFLOW)
  if (TERMINAL.includes(status) && jobs.some((job) => !job.terminal) && stage.jobsProfile === 'available') {
    stage.violate(`the client reported ${status} before the job had ended`, call.entry)
  }
  stage.reported({ status, value, events, entry: call.entry })
}

function examineSubscription(call: Call, stage: Stage): void {
  const job = stage.jobs.get(String(call.data.job_id))
  const after = Number(call.data.after_sequence ?? 0)
  if (!job) return
  if (after > job.held) {
    stage.violate(`it subscribes after ${after}, and has the events up to ${job.held} only`, call.entry)
  }
}
