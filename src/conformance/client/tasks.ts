// What a client is asked to do, as data for its driver and in words for people. They are the same few things throughout.
import { GREETING_WORKFLOW, REPORT_WORKFLOW } from './records.ts'

interface Common {
  /** The encoding to ask for, where it matters. */
  readonly encoding?: 'json-text'
}

interface Submission extends Common {
  readonly workflow_id: string
}

export type Work =
  | (Submission & { kind: 'run'; inputs: Readonly<Record<string, unknown>>; preflight?: boolean })
  | (Submission & { kind: 'pair'; inputs: readonly Readonly<Record<string, unknown>>[] })
  | (Submission & { kind: 'cancel'; inputs: Readonly<Record<string, unknown>>; when: 'queued' | 'running' | 'ended' })
  | (Submission & { kind: 'look'; inputs: Readonly<Record<string, unknown>> })
  | (Common & { kind: 'attach'; job_id: string; after_sequence: number })
  | (Common & { kind: 'capabilities' })
  | (Common & { kind: 'earlier'; job_ids: readonly [string, string] })
  | (Common & { kind: 'upload'; name: string; content_type: string; content_base64: string })

/** A task as a driver gets it. */
export type Task = Work & {
  /** The report is a job of this workflow. */
  readonly report_workflow_id: string
  /** The token to begin with, and those to go on with where one is refused. */
  readonly tokens: readonly string[]
  /** What time limits of the client may be multiplied with. */
  readonly pace: number
  readonly in_words: string
}

const ADA = { name: 'Ada' }

export function run(extra: { workflow_id?: string; preflight?: boolean; encoding?: 'json-text' } = {}): Work {
  return { kind: 'run', workflow_id: GREETING_WORKFLOW, inputs: ADA, ...extra }
}

export function pair(): Work {
  return { kind: 'pair', workflow_id: GREETING_WORKFLOW, inputs: [ADA, { name: 'Bob' }] }
}

export function cancel(when: 'queued' | 'running' | 'ended'): Work {
  return { kind: 'cancel', workflow_id: GREETING_WORKFLOW, inputs: ADA, when }
}

export function look(): Work {
  return { kind: 'look', workflow_id: GREETING_WORKFLOW, inputs: ADA }
}

export function attach(job_id: string, after_sequence: number): Work {
  return { kind: 'attach', job_id, after_sequence }
}

export function taskOf(work: Work, tokens: readonly string[], pace: number): Task {
  return { ...work, report_workflow_id: REPORT_WORKFLOW, tokens, pace, in_words: inWords(work) }
}

const REPORT = `Then report: submit the workflow ${REPORT_WORKFLOW} with the inputs {status, value, events} (where the profile jobs is unavailable: POST /api/workflows/${REPORT_WORKFLOW}/run)`
const OF_A_JOB = `${REPORT}: the job's last status as your client has it, its output "greeting" (null where it has none), and the sequences of the events of known types that your client gave to its user, in that order. Where it ended with an error, status is the error's code, value null.`

function inWords(work: Work): string {
  const encoding = work.encoding === undefined ? '' : ' Ask for JSON text with set_mode first.'
  return `${WORDS[work.kind](work as never)}${encoding}`
}

const submit = ({ workflow_id, inputs }: { workflow_id: string; inputs: unknown }) =>
  `Submit the workflow ${JSON.stringify(workflow_id)} with the inputs ${JSON.stringify(inputs)}`

const WHEN = {
  queued: 'as soon as it is queued',
  running: 'as soon as it runs',
  ended: 'once it has ended',
} as const

const WORDS: { readonly [K in Work['kind']]: (work: Extract<Work, { kind: K }>) => string } = {
  run: (work) =>
    `${work.preflight ? 'Ask for a preflight at level execution; where it is not runnable, report the status "not_runnable" with value null and events []. Else: ' : ''}${submit(work)} and follow the job to its end. ${OF_A_JOB}`,
  pair: ({ workflow_id, inputs }) =>
    `Submit the workflow ${workflow_id} twice at the same time, with ${JSON.stringify(inputs[0])} and with ${JSON.stringify(inputs[1])}, without waiting for the first answer. Follow both jobs to their ends. ${REPORT}: "completed" if both did, the list of both greetings in that order, and [].`,
  cancel: (work) =>
    `${submit(work)} and follow the job. Ask for its cancellation ${WHEN[work.when]}, and wait for its end. ${OF_A_JOB}`,
  look: (work) =>
    `${submit(work)} and follow the job. As soon as it is suspended, read its snapshot. ${REPORT}: the job's status as your client then has it, null, and [].`,
  attach: ({ job_id, after_sequence }) =>
    `Follow the job ${JSON.stringify(job_id)}, of which you have the events up to sequence ${after_sequence}, to its end. ${OF_A_JOB}`,
  capabilities: () =>
    `Ask for the capabilities. ${REPORT}: the state of the profile jobs, server_version, and []. Where it ended with an error, status is the error's code, value null.`,
  earlier: ({ job_ids }) =>
    `Read the snapshots of the jobs ${job_ids.join(' and ')}. ${REPORT}: "compared", the id of the job that was created earlier, and [].`,
  upload: ({ name, content_type }) =>
    `Upload the bytes content_base64 as a temporary asset with the name ${name} and the content type ${content_type}. ${REPORT}: "uploaded", its uri, and []. Where it ended with an error, status is the error's code, value null.`,
}
