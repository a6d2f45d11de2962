// Validates every call in every scenario.
import { commandValidators } from '../../../generated/validators.js'
import type { ClientCall } from './call.ts'
import type { JsonMap } from './frame-codec.ts'
import { canonicalizeSubmission, type ScenarioRun } from './scenario-run.ts'
import { REPORT_WORKFLOW } from './server-records.ts'

const TERMINAL_STATUSES: readonly unknown[] = ['completed', 'failed', 'cancelled']
/** The HTTP operations whose body is the data of the command. Commands are validated where they arrive. */
const CALLS_WITH_COMMAND_BODY: readonly string[] = ['submit_job', 'preflight_workflow', 'get_workflow_interfaces']
/** The clocks of two sides differ by at most this much over a second. */
const CLOCK_TOLERANCE_MS = 50

type CommandName = keyof typeof commandValidators.ws

export function validateCall(call: ClientCall, run: ScenarioRun): void {
  const problem =
    call.transport === 'http' && CALLS_WITH_COMMAND_BODY.includes(call.name)
      ? describeSchemaFailure({ command: call.name, data: call.data, request_id: 'x' })
      : null
  if (problem) run.addViolation(`${call.name} does not match its schema: ${problem}`, call.entry)
  if ((run.retryNotBefore.get(call.name) ?? 0) - CLOCK_TOLERANCE_MS > performance.now()) {
    run.addViolation(`${call.name} came again before the time that Retry-After allows`, call.entry)
  }
  if (call.name === 'submit_job') validateSubmission(call, run)
  if (call.name === 'runWorkflow' && call.data.workflow_id === REPORT_WORKFLOW)
    recordReport(call.data.params, call, run)
  if (call.name === 'subscribe_job') validateSubscription(call, run)
}

/** Returns the schema errors of a command, or null. */
export function describeSchemaFailure(frame: JsonMap): string | null {
  const { command } = frame
  if (!isCommand(command)) return `there is no command ${JSON.stringify(command)}`
  const validate = commandValidators.ws[command]
  if (validate(frame)) return null
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`).join('; ')
}

function isCommand(name: unknown): name is CommandName {
  return typeof name === 'string' && Object.hasOwn(commandValidators.ws, name)
}

function validateSubmission(call: ClientCall, run: ScenarioRun): void {
  const { data } = call
  if (data.workflow_id === REPORT_WORKFLOW) return recordReport(data.inputs, call, run)
  const submission = {
    key: String(data.idempotency_key),
    etag: String(data.workflow_etag),
    body: canonicalizeSubmission(data),
    transport: call.transport,
  }
  const same = run.submissions.find(({ key }) => key === submission.key)
  run.submissions.push(submission)
  const keys = new Set(run.submissions.map(({ key }) => key)).size
  const etagKnown = run.refusedEtags.has(submission.etag)
  if (etagKnown) run.addViolation('the job was submitted again with the etag that had been refused', call.entry)
  else if (same && same.body !== submission.body && !run.facts.keys) {
    run.addViolation('the job was submitted again under the same key with another body', call.entry)
  } else if (keys > (run.facts.keys ?? 1)) {
    run.addViolation('the job was submitted again under another key', call.entry)
  }
}

function recordReport(inputs: unknown, call: ClientCall, run: ScenarioRun): void {
  const { status = null, value = null, events = null } = (inputs ?? {}) as JsonMap
  const jobs = [...run.jobs.values()].filter(({ facts }) => facts.workflow_id !== REPORT_WORKFLOW)
  if (TERMINAL_STATUSES.includes(status) && jobs.some((job) => !job.isTerminal) && run.jobsProfile === 'available') {
    run.addViolation(`the client reported ${status} before the job had ended`, call.entry)
  }
  run.setReport({ status, value, events, entry: call.entry })
}

function validateSubscription(call: ClientCall, run: ScenarioRun): void {
  const job = run.jobs.get(String(call.data.job_id))
  const after = Number(call.data.after_sequence ?? 0)
  if (!job) return
  if (after > job.heldSequence) {
    run.addViolation(`the client subscribes after ${after}, but has events only up to ${job.heldSequence}`, call.entry)
  }
}
