// Helpers for tests of the preview: a server that serves it, its workflows, and submissions.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { SubmitJobRequest, SubmitJobResponse, Workflow } from '../../generated/types.ts'
import { checkDatabase } from '../../src/db/integrity/database-check.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { type Answer, call, type ErrorBody } from '../helpers/http.ts'
import type { TestServer, TestSettings } from '../helpers/server.ts'
import { type GatedServer, gated, plain, startGated } from '../jobs/kit.ts'

export const PREVIEW = { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }

/** A server with the preview that knows `test.Gate`, without a limit on messages. */
export function startPreview(settings: Parameters<typeof startGated>[0] = {}): Promise<GatedServer> {
  const { environment, config, ...rest } = settings as TestSettings
  return startGated({
    ...rest,
    environment: { ...PREVIEW, ...environment },
    config: { ws_rate_limit_disabled: true, ...config },
  })
}

/** `x -> out`: a workflow that ends at once. */
export const QUICK = plain
/** The same workflow with a gate in between. */
export const GATED = gated

/** A required input that is a number from 1 to 9. */
export const STRICT: Graph = graph(
  [node('in', 'input.Integer', { name: 'n', min: 1, max: 9 }), sink('out')],
  ['in.output->out.value'],
)

/** Outputs every item of a list, while a gate beside them holds the job open. */
export function streaming(items: readonly unknown[]): Graph {
  return graph(
    [
      source('xs', items),
      node('each', 'control.ForEach'),
      sink('items'),
      source('in', 1),
      node('gate', 'test.Gate'),
      sink('out'),
    ],
    ['xs.output->each.list', 'each.item->items.value', 'in.output->gate.value', 'gate.output->out.value'],
  )
}

export async function workflow(server: TestServer, of: Graph, headers = {}): Promise<Workflow> {
  const body = { name: 'Of a test', graph: of }
  const answer = await call<Workflow>(server, 'POST', '/api/workflows', { body, headers })
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}

let keys = 0

/** Returns a submission under a key of its own. */
export function submissionOf({ id, etag }: Workflow, more: Partial<SubmitJobRequest> = {}): SubmitJobRequest {
  return {
    client_request_id: `attempt-${++keys}`,
    idempotency_key: `key-${keys}`,
    workflow_id: id,
    workflow_etag: etag,
    interface_version: 1,
    ...more,
  }
}

export function post<T = SubmitJobResponse>(
  server: TestServer,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer<T>> {
  return call<T>(server, 'POST', '/api/sdk/v1/jobs', { body, headers })
}

/** Submits a job, which must be accepted. */
export async function submitted(
  server: TestServer,
  body: SubmitJobRequest,
  headers: Readonly<Record<string, string>> = {},
): Promise<SubmitJobResponse> {
  const answer = await post(server, body, headers)
  assert.equal(answer.status, 202, answer.text)
  return answer.body
}

export type SdkErrorBody = ErrorBody & { code: string; retryable: boolean }

/** Submits a job, which must be refused with this code; returns the problems. */
export async function refusedWith(
  server: TestServer,
  body: unknown,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ path: string; message: string; code?: string }[]> {
  const answer = await post<SdkErrorBody>(server, body, headers)
  assert.equal(answer.body.code, code, answer.text)
  return answer.body.error.problems ?? []
}

/** Returns what `svc check` finds in the server's database. */
export function faults({ data_dir }: { readonly data_dir: string }): ReturnType<typeof checkDatabase> {
  return checkDatabase(join(data_dir, 'svc.db'))
}
