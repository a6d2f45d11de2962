// Checks of HTTP rules that need special requests: revisions, nulls and the order of validation.

import { CheckFindings, expect } from '../check-outcomes.ts'
import { findJsonBody, findOperation } from '../contract-operations.ts'
import { createOptionalNulls } from '../contract-schemas.ts'
import { createSubmission, storeOwnWorkflow, storeSampleWorkflow } from '../job-actions.ts'
import { isSameJson, mapOf } from '../json.ts'
import { sampleGraphs } from '../sample-graphs.ts'
import type { SuiteContext } from '../suite-context.ts'
import { type SuiteAnswer, toEvidenceParts } from '../target-server.ts'

/** Another status breaks the rule. */
function expectStatus(status: number, answer: SuiteAnswer, what: string): void {
  const { request, answer: got } = toEvidenceParts(answer)
  expect(answer.status === status, `${what} is ${answer.status}, not ${status}`, request, got)
}

export async function checkRevisions(t: SuiteContext): Promise<void> {
  t.requireOperations('createWorkflow', 'getWorkflow', 'updateWorkflow')
  const { id } = await storeOwnWorkflow(t, 'revisions')
  const place = { values: { id } }
  const first = await t.callExpecting('getWorkflow', 200, place)
  const revision = String(first.headers.etag)
  const json = { name: 'conformance revised', graph: sampleGraphs.greeting }
  expectStatus(
    412,
    await t.call('updateWorkflow', place, { json, headers: { 'If-Match': '"conformance"' } }),
    'a stale If-Match',
  )
  const unchanged = await t.callExpecting('getWorkflow', 200, place)
  expect(isSameJson(unchanged.body, first.body), 'a refused change has an effect', { id }, unchanged.body)
  const changed = await t.call('updateWorkflow', place, { json, headers: { 'If-Match': revision } })
  expectStatus(200, changed, 'the current If-Match')
  expect(changed.headers.etag !== revision, 'the ETag is the same after a change', { id }, changed.headers)
  expectStatus(
    412,
    await t.call('updateWorkflow', place, { json, headers: { 'If-Match': revision } }),
    'the former If-Match',
  )
}

/** A request whose optional properties are null is answered like one without them. */
export async function checkNullMeansAbsent(t: SuiteContext): Promise<void> {
  const findings = new CheckFindings()
  const { id } = await storeSampleWorkflow(t, 'limits')
  const see = (plain: SuiteAnswer, nulled: SuiteAnswer, alike: boolean) =>
    findings.addCase(plain.status === nulled.status && alike, () => ({
      finding: `null differs from absent: ${plain.status} without, ${nulled.status} with nulls`,
      ...toEvidenceParts(nulled),
    }))
  if (t.hasOperation('preflightWorkflow')) {
    const plain = await t.call('preflightWorkflow', {}, { json: { workflow_id: id } })
    const nulls = createNulls('preflightWorkflow')
    const nulled = await t.call('preflightWorkflow', {}, { json: { workflow_id: id, ...nulls } })
    see(plain, nulled, isSameJson(plain.body, nulled.body))
  }
  if (t.hasOperation('getWorkflowInterfaces')) {
    const plain = await t.call('getWorkflowInterfaces', {}, { json: { ids: [id] } })
    const nulled = await t.call(
      'getWorkflowInterfaces',
      {},
      { json: { ids: [id], ...createNulls('getWorkflowInterfaces') } },
    )
    see(plain, nulled, isSameJson(plain.body, nulled.body))
  }
  if (t.hasOperation('createWorkflow')) {
    const json = { name: 'conformance nulls', graph: sampleGraphs.greeting, ...createNulls('createWorkflow') }
    const nulled = await t.call('createWorkflow', {}, { json })
    const { id: made } = mapOf(nulled.body)
    if (nulled.status === 201) t.cleanups.push(() => t.call('deleteWorkflow', { values: { id: String(made) } }))
    const plain = await t.call(
      'createWorkflow',
      {},
      { json: { name: 'conformance nulls', graph: sampleGraphs.greeting } },
    )
    if (plain.status === 201) {
      t.cleanups.push(() => t.call('deleteWorkflow', { values: { id: String(mapOf(plain.body).id) } }))
    }
    see(plain, nulled, mapOf(plain.body).etag === mapOf(nulled.body).etag)
  }
  findings.throwIfBroken('the server claims no operation with optional properties')
}

function createNulls(operation: 'preflightWorkflow' | 'getWorkflowInterfaces' | 'createWorkflow') {
  return createOptionalNulls(findJsonBody(findOperation(operation))?.schema)
}

/** Each request is wrong in two ways. The answer shows which problem is checked first. */
export async function checkValidationOrder(t: SuiteContext): Promise<void> {
  t.requireOperations('preflightWorkflow')
  const path = '/api/sdk/v1/preflight'
  const refused = { headers: { Authorization: 'Bearer nta_conformance' } }
  expectStatus(401, await t.target.send('PATCH', path, refused), 'a refused token with a wrong method')
  expectStatus(
    401,
    await t.target.send('GET', '/api/sdk/v1/conformance-unknown', refused),
    'a refused token at an unknown path',
  )
  const odd = { raw: '{', content_type: 'text/plain' }
  expectStatus(405, await t.target.send('PUT', path, odd), 'a wrong method with a wrong content type')
  expectStatus(415, await t.target.send('POST', path, odd), 'a wrong content type with a malformed body')
  expectStatus(400, await t.target.send('POST', path, { raw: '{' }), 'a malformed body')
  const nowhere = { workflow_id: 'conformance-unknown' }
  expectStatus(
    400,
    await t.target.send('POST', path, { json: { ...nowhere, level: 'x' } }),
    'an invalid body for no workflow',
  )
  expectStatus(404, await t.target.send('POST', path, { json: nowhere }), 'a valid body for no workflow')
  if (!t.hasOperation('submitJob')) return
  const stored = await storeSampleWorkflow(t, 'greeting')
  const first = await t.callExpecting('submitJob', 202, {}, { json: createSubmission(stored, { name: 'Ada' }) })
  const taken = mapOf(first.sent.body)
  const invalid = { ...taken, interface_version: 2, inputs: { name: 'Bob' } }
  expectStatus(400, await t.call('submitJob', {}, { json: invalid }), 'an invalid body with a taken key')
}

/** JSON with the charset UTF-8 is accepted. */
export async function checkCharset(t: SuiteContext): Promise<void> {
  const findings = new CheckFindings()
  const { id } = await storeSampleWorkflow(t, 'limits')
  const requests = [
    ['preflightWorkflow', 200, { workflow_id: id }],
    ['getWorkflowInterfaces', 200, { ids: [id] }],
    ['createWorkflow', 201, { name: 'conformance charset', graph: sampleGraphs.greeting }],
  ] as const
  for (const [operation, status, json] of requests.filter(([one]) => t.hasOperation(one))) {
    for (const content_type of ['application/json; charset=utf-8', 'application/json;charset=UTF-8']) {
      const answer = await t.call(operation, {}, { json, content_type })
      const made = mapOf(answer.body).id
      if (status === 201 && answer.status === 201)
        t.cleanups.push(() => t.call('deleteWorkflow', { values: { id: String(made) } }))
      const finding = `${operation} answers ${answer.status}, not ${status}, to ${content_type}`
      findings.addCase(answer.status === status, () => ({ finding, ...toEvidenceParts(answer) }))
    }
  }
  findings.throwIfBroken('the server claims no operation with a JSON body')
}
