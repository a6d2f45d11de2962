// Rules of HTTP that need a request or two of their own: revisions, nulls, the order of checks.
import { graphs } from '../graphs.ts'
import { ownWorkflow, submission, workflow } from '../jobs.ts'
import { mapOf, same } from '../json.ts'
import { bodyOf, infoOf } from '../operations.ts'
import { optionalNulls } from '../schemas.ts'
import { type Answer, shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings } from '../verdicts.ts'

/** A status breaks the rule unless it is that one. */
function is(status: number, answer: Answer, what: string): void {
  const { request, answer: got } = shown(answer)
  expect(answer.status === status, `${what} is ${answer.status}, not ${status}`, request, got)
}

export async function revisions(t: Trial): Promise<void> {
  t.needs('createWorkflow', 'getWorkflow', 'updateWorkflow')
  const { id } = await ownWorkflow(t, 'revisions')
  const place = { values: { id } }
  const first = await t.good('getWorkflow', 200, place)
  const revision = String(first.headers.etag)
  const json = { name: 'conformance revised', graph: graphs.greeting }
  is(412, await t.call('updateWorkflow', place, { json, headers: { 'If-Match': '"conformance"' } }), 'a stale If-Match')
  const unchanged = await t.good('getWorkflow', 200, place)
  expect(same(unchanged.body, first.body), 'a refused change has changed something', { id }, unchanged.body)
  const changed = await t.call('updateWorkflow', place, { json, headers: { 'If-Match': revision } })
  is(200, changed, 'the current If-Match')
  expect(changed.headers.etag !== revision, 'the ETag is the same after a change', { id }, changed.headers)
  is(412, await t.call('updateWorkflow', place, { json, headers: { 'If-Match': revision } }), 'the former If-Match')
}

/** What takes nulls answers with all of them as without any. */
export async function nullsMeanAbsent(t: Trial): Promise<void> {
  const findings = new Findings()
  const { id } = await workflow(t, 'limits')
  const see = (plain: Answer, nulled: Answer, alike: boolean) =>
    findings.see(plain.status === nulled.status && alike, () => ({
      finding: `null is not as absent: ${plain.status} without, ${nulled.status} with nulls`,
      ...shown(nulled),
    }))
  if (t.serves('preflightWorkflow')) {
    const plain = await t.call('preflightWorkflow', {}, { json: { workflow_id: id } })
    const nulls = nullsOf('preflightWorkflow')
    const nulled = await t.call('preflightWorkflow', {}, { json: { workflow_id: id, ...nulls } })
    see(plain, nulled, same(plain.body, nulled.body))
  }
  if (t.serves('getWorkflowInterfaces')) {
    const plain = await t.call('getWorkflowInterfaces', {}, { json: { ids: [id] } })
    const nulled = await t.call(
      'getWorkflowInterfaces',
      {},
      { json: { ids: [id], ...nullsOf('getWorkflowInterfaces') } },
    )
    see(plain, nulled, same(plain.body, nulled.body))
  }
  if (t.serves('createWorkflow')) {
    const json = { name: 'conformance nulls', graph: graphs.greeting, ...nullsOf('createWorkflow') }
    const nulled = await t.call('createWorkflow', {}, { json })
    const { id: made } = mapOf(nulled.body)
    if (nulled.status === 201) t.cleanups.push(() => t.call('deleteWorkflow', { values: { id: String(made) } }))
    const plain = await t.call('createWorkflow', {}, { json: { name: 'conformance nulls', graph: graphs.greeting } })
    if (plain.status === 201) {
      t.cleanups.push(() => t.call('deleteWorkflow', { values: { id: String(mapOf(plain.body).id) } }))
    }
    see(plain, nulled, mapOf(plain.body).etag === mapOf(nulled.body).etag)
  }
  findings.settle('the server claims no operation with optional properties')
}

function nullsOf(operation: 'preflightWorkflow' | 'getWorkflowInterfaces' | 'createWorkflow') {
  return optionalNulls(bodyOf(infoOf(operation))?.schema)
}

/** Each request is wrong in two ways; the answer tells which is looked at first. */
export async function orderOfChecks(t: Trial): Promise<void> {
  t.needs('preflightWorkflow')
  const path = '/api/sdk/v1/preflight'
  const refused = { headers: { Authorization: 'Bearer nta_conformance' } }
  is(401, await t.target.send('PATCH', path, refused), 'a refused token with a wrong method')
  is(401, await t.target.send('GET', '/api/sdk/v1/conformance-unknown', refused), 'a refused token at an unknown path')
  const odd = { raw: '{', content_type: 'text/plain' }
  is(405, await t.target.send('PUT', path, odd), 'a wrong method with a wrong content type')
  is(415, await t.target.send('POST', path, odd), 'a wrong content type with a malformed body')
  is(400, await t.target.send('POST', path, { raw: '{' }), 'a malformed body')
  const nowhere = { workflow_id: 'conformance-unknown' }
  is(400, await t.target.send('POST', path, { json: { ...nowhere, level: 'x' } }), 'an invalid body for no workflow')
  is(404, await t.target.send('POST', path, { json: nowhere }), 'a valid body for no workflow')
  if (!t.serves('submitJob')) return
  const stored = await workflow(t, 'greeting')
  const first = await t.good('submitJob', 202, {}, { json: submission(stored, { name: 'Ada' }) })
  const taken = mapOf(first.sent.body)
  const invalid = { ...taken, interface_version: 2, inputs: { name: 'Bob' } }
  is(400, await t.call('submitJob', {}, { json: invalid }), 'an invalid body with a taken key')
}

/** JSON that says that it is UTF-8 is JSON. */
export async function charset(t: Trial): Promise<void> {
  const findings = new Findings()
  const { id } = await workflow(t, 'limits')
  const requests = [
    ['preflightWorkflow', 200, { workflow_id: id }],
    ['getWorkflowInterfaces', 200, { ids: [id] }],
    ['createWorkflow', 201, { name: 'conformance charset', graph: graphs.greeting }],
  ] as const
  for (const [operation, status, json] of requests.filter(([one]) => t.serves(one))) {
    for (const content_type of ['application/json; charset=utf-8', 'application/json;charset=UTF-8']) {
      const answer = await t.call(operation, {}, { json, content_type })
      const made = mapOf(answer.body).id
      if (status === 201 && answer.status === 201)
        t.cleanups.push(() => t.call('deleteWorkflow', { values: { id: String(made) } }))
      const finding = `${operation} answers ${answer.status}, not ${status}, to ${content_type}`
      findings.see(answer.status === status, () => ({ finding, ...shown(answer) }))
    }
  }
  findings.settle('the server claims no operation that takes JSON')
}
