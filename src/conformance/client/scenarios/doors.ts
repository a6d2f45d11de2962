// Access, identifiers, times and uploads.
import { accept, answer, send } from '../answers.ts'
import { greetingLife, status } from '../life.ts'
import { capabilities } from '../records.ts'
import type { Scenario } from '../scenario.ts'
import { run } from '../tasks.ts'
import { COMPLETE, FOLLOWS, GREETED } from './common.ts'

const renewed: Scenario = {
  id: 'token-renewed',
  title: 'The token expires: the socket is closed with 1008, and the token refused with 401',
  work: run(),
  step: FOLLOWS,
  play: {
    calls: {
      subscribe_job: [
        (call, stage) => {
          accept(call, stage)
          send(call, stage, [1, 2, 3])
          stage.tokens = new Set(stage.task.tokens.slice(1))
          call.connection!.close(1008, 'the credential has expired')
        },
      ],
    },
  },
  expected: COMPLETE,
}

const refused: Scenario = {
  id: 'token-refused',
  title: 'Every token is refused with 401',
  work: run(),
  step: 'any request with the token',
  prepare: (stage) => {
    stage.tokens = new Set()
  },
  play: { refused: (stage) => stage.reach() },
  expected: null,
}

const ODD = 'wf/gréet ing%2F?a=1&b#c "☂"'

const odd: Scenario = {
  id: 'odd-identifiers',
  title: 'Identifiers have slashes, percent signs, spaces and more',
  work: run({ workflow_id: ODD }),
  step: `submit_job of the workflow ${ODD}`,
  job_id: 'job/1 50% "ü" ?a#b+c',
  prepare: (stage) => {
    stage.etags.set(ODD, 'W/"etag of \\ odd"')
  },
  play: {
    calls: { submit_job: [answer] },
    lost: (stage, entry) =>
      stage.violate('a path was asked for that there is not: an identifier is not encoded', entry),
  },
  expected: GREETED,
}

const JOBS = ['job_a', 'job_b'] as const
/** As text the second is the earlier one. */
const CREATED: Readonly<Record<string, string>> = {
  job_a: '2026-01-15T10:30:00.000+02:00',
  job_b: '2026-01-15T09:00:00.000Z',
}

const instants: Scenario = {
  id: 'timestamps-are-instants',
  title: 'Two timestamps have different offsets',
  work: { kind: 'earlier', job_ids: JOBS },
  step: 'get_job_snapshot of both jobs',
  prepare: (stage) => {
    for (const id of JOBS) stage.addJob(id, 'wf_greeting', [status('accepted'), ...greetingLife().slice(5)]).stored = 2
  },
  play: {
    calls: {
      get_job_snapshot: (call, stage) => {
        const job = stage.jobs.get(String(call.data.job_id))
        const created_at = CREATED[String(call.data.job_id)]
        if (job && created_at) call.reply({ ...job.snapshot(), created_at })
        else stage.refuse(call, 'JOB_NOT_FOUND')
      },
    },
  },
  expected: { status: ['compared'], value: 'job_a' },
}

const CONTENT = Buffer.from([0, 13, 10, 45, 45, 255, 254, ...Buffer.from('\r\n--no boundary\r\n"')])
const FILE = { name: 'say "hi"; to.txt', content_type: 'text/plain', content_base64: CONTENT.toString('base64') }
const UPLOADS = 'POST /api/sdk/v1/assets/temporary'

function uploadProblem(data: Record<string, unknown>): string | null {
  if (data.problem !== undefined) return String(data.problem)
  if (data.name !== FILE.name) return `the file's name arrived as ${JSON.stringify(data.name)}`
  if (data.content_type !== FILE.content_type) return `the content type arrived as ${JSON.stringify(data.content_type)}`
  return data.content_base64 === FILE.content_base64 ? null : 'the bytes are not those of the task'
}

const upload: Scenario = {
  id: 'upload',
  title: 'A file is uploaded whose name has quotation marks, and whose bytes look like a boundary',
  work: { kind: 'upload', ...FILE },
  step: UPLOADS,
  play: {
    calls: {
      uploadTemporaryAsset: (call, stage) => {
        const problem = uploadProblem(call.data)
        if (problem) stage.violate(problem, call.entry)
        answer(call, stage)
      },
    },
  },
  expected: { status: ['uploaded'], value: '/api/storage/temp/1/conformance.bin' },
}

const tooLarge: Scenario = {
  id: 'upload-too-large',
  title: 'An upload is too large',
  work: { kind: 'upload', ...FILE },
  step: UPLOADS,
  play: {
    calls: {
      uploadTemporaryAsset: (call, stage) => {
        if (stage.count('upload') > 1) stage.violate('the upload was sent again', call.entry)
        stage.refuse(call, 'UPLOAD_TOO_LARGE')
      },
    },
  },
  expected: { status: ['UPLOAD_TOO_LARGE'], value: null },
}

const cutOff: Scenario = {
  id: 'answer-cut-off',
  title: 'The connection breaks in the middle of the answer to the capabilities',
  work: { kind: 'capabilities' },
  step: 'get_capabilities',
  play: { calls: { get_capabilities: [(call, { jobsProfile }) => call.cut(capabilities(jobsProfile))] } },
  expected: { status: ['available'] },
}

export const doors = [renewed, refused, cutOff, odd, instants, upload, tooLarge]
