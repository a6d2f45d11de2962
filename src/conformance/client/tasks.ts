// The tasks of clients, as data for a driver and in words for people. All scenarios use a few kinds of tasks.
import { GREETING_WORKFLOW, REPORT_WORKFLOW } from './server-records.ts'

interface WorkCommon {
  /** The requested encoding, where it matters. */
  readonly encoding?: 'json-text'
}

interface SubmissionWork extends WorkCommon {
  readonly workflow_id: string
}

export type ClientWork =
  | (SubmissionWork & { kind: 'run'; inputs: Readonly<Record<string, unknown>>; preflight?: boolean })
  | (SubmissionWork & { kind: 'pair'; inputs: readonly Readonly<Record<string, unknown>>[] })
  | (SubmissionWork & {
      kind: 'cancel'
      inputs: Readonly<Record<string, unknown>>
      when: 'queued' | 'running' | 'ended'
    })
  | (SubmissionWork & { kind: 'look'; inputs: Readonly<Record<string, unknown>> })
  | (WorkCommon & { kind: 'attach'; job_id: string; after_sequence: number })
  | (WorkCommon & { kind: 'capabilities' })
  | (WorkCommon & { kind: 'earlier'; job_ids: readonly [string, string] })
  | (WorkCommon & { kind: 'upload'; name: string; content_type: string; content_base64: string })

/** A task as a driver gets it. */
export type ClientTask = ClientWork & {
  /** The report is a job of this workflow. */
  readonly report_workflow_id: string
  /** The first token, and further ones for the case that a token is refused. */
  readonly tokens: readonly string[]
  /** The factor for time limits of the client. */
  readonly pace: number
  readonly in_words: string
}

const ADA = { name: 'Ada' }

export function createRunWork(
  extra: { workflow_id?: string; preflight?: boolean; encoding?: 'json-text' } = {},
): ClientWork {
  return { kind: 'run', workflow_id: GREETING_WORKFLOW, inputs: ADA, ...extra }
}

export function createPairWork(): ClientWork {
  return { kind: 'pair', workflow_id: GREETING_WORKFLOW, inputs: [ADA, { name: 'Bob' }] }
}

export function createCancelWork(when: 'queued' | 'running' | 'ended'): ClientWork {
  return { kind: 'cancel', workflow_id: GREETING_WORKFLOW, inputs: ADA, when }
}

export function createLookWork(): ClientWork {
  return { kind: 'look', workflow_id: GREETING_WORKFLOW, inputs: ADA }
}

export function createAttachWork(job_id: string, after_sequence: number): ClientWork {
  return { kind: 'attach', job_id, after_sequence }
}

export function createTask(work: ClientWork, tokens: readonly string[], pace: number): ClientTask {
  return { ...work, report_workflow_id: REPORT_WORKFLOW, tokens, pace, in_words: describeWork(work) }
}

const REPORT_INSTRUCTION = `Then report: submit the workflow ${REPORT_WORKFLOW} with the inputs {status, value, events} (where the profile jobs is unavailable: POST /api/workflows/${REPORT_WORKFLOW}/run)`
const JOB_REPORT_INSTRUCTION = `${REPORT_INSTRUCTION}: the job's last status as your client has it, its output "greeting" (null where it has none), and the sequences of the events of known types that your client gave to its user, in that order. Where it ended with an error, status is the error's code, value null.`

function describeWork(work: ClientWork): string {
  const encoding = work.encoding === undefined ? '' : ' Ask for JSON text with set_mode first.'
  return `${WORK_DESCRIPTIONS[work.kind](work as never)}${encoding}`
}

const describeSubmission = ({ workflow_id, inputs }: { workflow_id: string; inputs: unknown }) =>
  `Submit the workflow ${JSON.stringify(workflow_id)} with the inputs ${JSON.stringify(inputs)}`

const CANCELLATION_MOMENTS = {
  queued: 'as soon as it is queued',
  running: 'as soon as it runs',
  ended: 'once it has ended',
} as const

const WORK_DESCRIPTIONS: { readonly [K in ClientWork['kind']]: (work: Extract<ClientWork, { kind: K }>) => string } = {
  run: (work) =>
    `${work.preflight ? 'Ask for a preflight at level execution; where it is not runnable, report the status "not_runnable" with value null and events []. Else: ' : ''}${describeSubmission(work)} and follow the job to its end. ${JOB_REPORT_INSTRUCTION}`,
  pair: ({ workflow_id, inputs }) =>
    `Submit the workflow ${workflow_id} twice at the same time, with ${JSON.stringify(inputs[0])} and with ${JSON.stringify(inputs[1])}, without waiting for the first answer. Follow both jobs to their ends. ${REPORT_INSTRUCTION}: "completed" if both did, the list of both greetings in that order, and [].`,
  cancel: (work) =>
    `${describeSubmission(work)} and follow the job. Ask for its cancellation ${CANCELLATION_MOMENTS[work.when]}, and wait for its end. ${JOB_REPORT_INSTRUCTION}`,
  look: (work) =>
    `${describeSubmission(work)} and follow the job. As soon as it is suspended, read its snapshot. ${REPORT_INSTRUCTION}: the job's status as your client then has it, null, and [].`,
  attach: ({ job_id, after_sequence }) =>
    `Follow the job ${JSON.stringify(job_id)}, of which you have the events up to sequence ${after_sequence}, to its end. ${JOB_REPORT_INSTRUCTION}`,
  capabilities: () =>
    `Ask for the capabilities. ${REPORT_INSTRUCTION}: the state of the profile jobs, server_version, and []. Where it ended with an error, status is the error's code, value null.`,
  earlier: ({ job_ids }) =>
    `Read the snapshots of the jobs ${job_ids.join(' and ')}. ${REPORT_INSTRUCTION}: "compared", the id of the job that was created earlier, and [].`,
  upload: ({ name, content_type }) =>
    `Upload the bytes content_base64 as a temporary asset with the name ${name} and the content type ${content_type}. ${REPORT_INSTRUCTION}: "uploaded", its uri, and []. Where it ended with an error, status is the error's code, value null.`,
}
