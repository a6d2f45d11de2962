// Scenarios about access, identifiers, times and uploads.
import { acceptSubscription, replyByDefault, sendEvents } from '../default-replies.ts'
import type { Scenario } from '../scenario.ts'
import { greetingEvents, statusEvent } from '../scripted-events.ts'
import { createCapabilities } from '../server-records.ts'
import { createRunWork } from '../tasks.ts'
import { EXPECT_ALL_EVENTS, EXPECT_EVENTS_OR_SNAPSHOT, FOLLOW_STEP } from './expectations.ts'

const tokenRenewed: Scenario = {
  id: 'token-renewed',
  title: 'The token expires: the socket is closed with 1008, and the token refused with 401',
  work: createRunWork(),
  step: FOLLOW_STEP,
  script: {
    calls: {
      subscribe_job: [
        (call, run) => {
          acceptSubscription(call, run)
          sendEvents(call, run, [1, 2, 3])
          run.validTokens = new Set(run.task.tokens.slice(1))
          call.connection!.close(1008, 'the credential has expired')
        },
      ],
    },
  },
  expected: EXPECT_EVENTS_OR_SNAPSHOT,
}

const tokenRefused: Scenario = {
  id: 'token-refused',
  title: 'Every token is refused with 401',
  work: createRunWork(),
  step: 'any request with the token',
  prepare: (run) => {
    run.validTokens = new Set()
  },
  script: { onTokenRefused: (run) => run.markStepReached() },
  expected: null,
}

const ODD_WORKFLOW_ID = 'wf/gréet ing%2F?a=1&b#c "☂"'

const oddIdentifiers: Scenario = {
  id: 'odd-identifiers',
  title: 'Identifiers have slashes, percent signs, spaces and more',
  work: createRunWork({ workflow_id: ODD_WORKFLOW_ID }),
  step: `submit_job of the workflow ${ODD_WORKFLOW_ID}`,
  job_id: 'job/1 50% "ü" ?a#b+c',
  prepare: (run) => {
    run.etags.set(ODD_WORKFLOW_ID, 'W/"etag of \\ odd"')
  },
  script: {
    calls: { submit_job: [replyByDefault] },
    onUnknownPath: (run, entry) =>
      run.addViolation('the client requested an unknown path: it does not encode an identifier', entry),
  },
  expected: EXPECT_ALL_EVENTS,
}

const COMPARED_JOB_IDS = ['job_a', 'job_b'] as const
/** As text, the second time is the earlier one. */
const CREATION_TIMES: Readonly<Record<string, string>> = {
  job_a: '2026-01-15T10:30:00.000+02:00',
  job_b: '2026-01-15T09:00:00.000Z',
}

const timestampsAreInstants: Scenario = {
  id: 'timestamps-are-instants',
  title: 'Two timestamps have different offsets',
  work: { kind: 'earlier', job_ids: COMPARED_JOB_IDS },
  step: 'get_job_snapshot of both jobs',
  prepare: (run) => {
    for (const id of COMPARED_JOB_IDS)
      run.addJob(id, 'wf_greeting', [statusEvent('accepted'), ...greetingEvents().slice(5)]).stored = 2
  },
  script: {
    calls: {
      get_job_snapshot: (call, run) => {
        const job = run.jobs.get(String(call.data.job_id))
        const created_at = CREATION_TIMES[String(call.data.job_id)]
        if (job && created_at) call.reply({ ...job.snapshot(), created_at })
        else run.refuse(call, 'JOB_NOT_FOUND')
      },
    },
  },
  expected: { status: ['compared'], value: 'job_a' },
}

const UPLOAD_CONTENT = Buffer.from([0, 13, 10, 45, 45, 255, 254, ...Buffer.from('\r\n--no boundary\r\n"')])
const UPLOAD_FILE = {
  name: 'say "hi"; to.txt',
  content_type: 'text/plain',
  content_base64: UPLOAD_CONTENT.toString('base64'),
}
const UPLOAD_STEP = 'POST /api/sdk/v1/assets/temporary'

function findUploadProblem(data: Record<string, unknown>): string | null {
  if (data.problem !== undefined) return String(data.problem)
  if (data.name !== UPLOAD_FILE.name) return `the file's name arrived as ${JSON.stringify(data.name)}`
  if (data.content_type !== UPLOAD_FILE.content_type)
    return `the content type arrived as ${JSON.stringify(data.content_type)}`
  return data.content_base64 === UPLOAD_FILE.content_base64 ? null : 'the bytes differ from those of the task'
}

const upload: Scenario = {
  id: 'upload',
  title: 'A file is uploaded whose name has quotation marks, and whose bytes look like a boundary',
  work: { kind: 'upload', ...UPLOAD_FILE },
  step: UPLOAD_STEP,
  script: {
    calls: {
      uploadTemporaryAsset: (call, run) => {
        const problem = findUploadProblem(call.data)
        if (problem) run.addViolation(problem, call.entry)
        replyByDefault(call, run)
      },
    },
  },
  expected: { status: ['uploaded'], value: '/api/storage/temp/1/conformance.bin' },
}

const uploadTooLarge: Scenario = {
  id: 'upload-too-large',
  title: 'An upload is too large',
  work: { kind: 'upload', ...UPLOAD_FILE },
  step: UPLOAD_STEP,
  script: {
    calls: {
      uploadTemporaryAsset: (call, run) => {
        if (run.countOccurrence('upload') > 1) run.addViolation('the upload was sent again', call.entry)
        run.refuse(call, 'UPLOAD_TOO_LARGE')
      },
    },
  },
  expected: { status: ['UPLOAD_TOO_LARGE'], value: null },
}

const answerCutOff: Scenario = {
  id: 'answer-cut-off',
  title: 'The connection breaks in the middle of the answer to the capabilities',
  work: { kind: 'capabilities' },
  step: 'get_capabilities',
  script: {
    calls: { get_capabilities: [(call, { jobsProfile }) => call.breakDuringReply(createCapabilities(jobsProfile))] },
  },
  expected: { status: ['available'] },
}

export const tokenIdAndUploadScenarios = [
  tokenRenewed,
  tokenRefused,
  answerCutOff,
  oddIdentifiers,
  timestampsAreInstants,
  upload,
  uploadTooLarge,
]
