// Brings a client and its jobs to every end there is, and handles what it is given: whatever else is rejected ends this process, which
// runs with --unhandled-rejections=strict. Nobody waits for some of the results, as callers may.
import { setImmediate as turn } from 'node:timers/promises'
import type { Client, Job } from '../../src/client/public.ts'
import { fastClient, historyOf, JOB, type Script, sequences, snapshot, startScripted, statusEvent } from './kit.ts'

type Signalled = { signal?: AbortSignal }
type Use = (client: Client, job: Job, options: Signalled) => Promise<unknown>

/** Every way to wait for something. */
const USES: readonly Use[] = [
  (_client, job) => sequences(job),
  (_client, job) => job.result,
  (_client, job, options) => sequences(job.events(options)),
  (_client, job, options) => job.wait(options),
  (_client, job, options) => job.wait({ ...options, cancel_on_abort: true }),
  (_client, job, options) => job.snapshot(options),
  (_client, job, options) => job.cancel(options),
  (client, _job, options) => client.submit('greet', {}, options),
  (client, _job, options) => client.run('greet', {}, { ...options, cancel_on_abort: true, onAccepted: () => {} }),
  (client, _job, options) => client.capabilities(options),
  (client, _job, options) => client.preflight({ workflow_id: 'greet' }, options),
  (client, _job, options) => client.upload(new Uint8Array(3), options),
  (client, _job, options) => client.rpc('get_node', { node_type: 'x' }, options),
  (client, _job, options) => client.http.GET('/api/jobs', options),
]

/** How it ends: what is done before and after the uses have begun. */
interface End {
  readonly before?: (client: Client, abort: AbortController) => void
  readonly after?: (client: Client, abort: AbortController) => void
}

const reason = new Error('enough')
const ENDS: readonly End[] = [
  { before: (client) => client.close() },
  { before: (_client, abort) => abort.abort(reason) },
  { after: (client) => client.close() },
  { after: (_client, abort) => abort.abort(reason) },
  {
    after: (client, abort) => {
      abort.abort(reason)
      client.close()
    },
  },
  {},
]

const running: NonNullable<Script['commands']> = {
  subscribe_job: (peer, command) => peer.subscribe(command, snapshot('running', 1), [statusEvent(1)]),
}
const completing: NonNullable<Script['commands']> = {
  subscribe_job: (peer, command) => peer.subscribe(command, snapshot('completed', 3), historyOf(3)),
}
const breaking: NonNullable<Script['commands']> = {
  submit_job: (peer) => peer.ws.terminate(),
  subscribe_job: (peer) => peer.ws.terminate(),
}
const refusing = Object.fromEntries(
  ['submit_job', 'subscribe_job', 'get_job_snapshot', 'request_job_cancellation', 'get_node'].map((name) => [
    name,
    (peer, command) => peer.refuse(command, 'FORBIDDEN'),
  ]),
) as NonNullable<Script['commands']>

const SCRIPTS: readonly Script[] = [
  ...[running, completing, breaking, refusing].map((commands) => ({ commands })),
  { upgrade: () => 401 },
  { jobs: 'disabled' },
  { http: () => true },
  { http: (_call, response) => response.destroy() },
]

let ends = 0
for (const script of SCRIPTS) {
  await using server = await startScripted(script)
  await Promise.all(
    ENDS.flatMap(({ before, after }) =>
      USES.map(async (use) => {
        const client = fastClient(server, {
          backoff: { attempts: 2 },
          times: { request_ms: 60, connect_ms: 60, cancel_ms: 60, give_up_ms: 60 },
        })
        const abort = new AbortController()
        const job = client.job(JOB)
        before?.(client, abort)
        void job.result
        const used = use(client, job, { signal: abort.signal }).catch(() => {})
        await turn()
        after?.(client, abort)
        await (before || after ? used : Promise.race([used, turn()]))
        ends++
        await client[Symbol.asyncDispose]()
      }),
    ),
  )
}
console.log(`${ends} ends`)
