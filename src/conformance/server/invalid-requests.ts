// Invalid requests of every claimed operation, one kind at a time.
import { type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import { findJsonBody, findOperationDocument, listParameters, replaceExampleIds } from './contract-operations.ts'
import { createInvalidInstances, type SchemaMutation } from './contract-schemas.ts'
import type { JsonMap } from './json.ts'
import { createPathValues, isSurveyed, readSurveyFacts, type SurveyCall } from './operation-survey.ts'
import type { PathAndQuery, SuiteContext } from './suite-context.ts'
import type { SurveyFacts } from './survey-requests.ts'

export type InvalidRequestKind = SchemaMutation | 'unknown-query' | 'query-values' | 'malformed-json' | 'content-type'

export interface InvalidRequest extends SurveyCall {
  kind: InvalidRequestKind
  at: string
}

/** Sends the invalid requests of one kind to all claimed operations. */
export async function sendInvalidRequests(t: SuiteContext, kind: InvalidRequestKind): Promise<InvalidRequest[]> {
  return t.memoize(`invalid requests ${kind}`, async () => {
    const known = await readSurveyFacts(t)
    const sent: InvalidRequest[] = []
    for (const info of operationManifest.filter(
      (one) => isSurveyed(t, one) && one.refuses_input && one.body !== 'raw',
    )) {
      for (const { at, place, asked } of listInvalidRequests(info, kind, known)) {
        const answer = await t.call(info.operationId, place, asked)
        sent.push({ info, operation: info.operationId, kind, at, answer })
      }
    }
    return sent
  })
}

interface RequestDraft {
  at: string
  place: PathAndQuery
  asked: { json?: unknown; raw?: string; content_type?: string }
}

function listInvalidRequests(info: OperationInfo, kind: InvalidRequestKind, known: SurveyFacts): RequestDraft[] {
  const names = [...info.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const values = { ...Object.fromEntries(names.map((name) => [name, 'x'])), ...createPathValues(info, known) }
  const body = findJsonBody(info)
  const valid = body?.examples.map((example) => replaceExampleIds(example, known))[0]
  if (kind === 'unknown-query' || kind === 'query-values') return listInvalidQueries(info, kind, values, valid)
  if (!body || valid === undefined) return []
  const place = { values }
  if (kind === 'malformed-json') return [{ at: '', place, asked: { raw: '{"conformance":' } }]
  if (kind === 'content-type') {
    return [{ at: '', place, asked: { raw: JSON.stringify(valid), content_type: 'text/plain' } }]
  }
  return createInvalidInstances(body.schema, valid)
    .filter((mutant) => mutant.kind === kind)
    .map(({ at, value }) => ({ at, place, asked: { json: value } }))
}

const UNKNOWN_QUERY_MARKER = 'x-eov-allow-unknown-query-parameters'

function listInvalidQueries(
  info: OperationInfo,
  kind: InvalidRequestKind,
  values: Record<string, string>,
  valid: unknown,
): RequestDraft[] {
  const asked = valid === undefined ? {} : { json: valid }
  // Where the server ignores an unknown query parameter, a valid body would have an effect.
  if (info.method !== 'get') return []
  if (kind === 'unknown-query') {
    return UNKNOWN_QUERY_MARKER in findOperationDocument(info)
      ? []
      : [{ at: 'conformance_unknown', place: { values, query: 'conformance_unknown=1' }, asked }]
  }
  return listParameters(info)
    .filter((parameter) => parameter.in === 'query')
    .flatMap(({ name, schema }) => {
      const wrong = findInvalidQueryValue(schema)
      return wrong === null ? [] : [{ at: name, place: { values, query: `${name}=${wrong}` }, asked }]
    })
}

/** Returns a text that violates the schema of a query parameter, or null. */
function findInvalidQueryValue({ type, minimum, enum: values, maxLength }: JsonMap): string | null {
  if (type === 'integer' || type === 'number') return typeof minimum === 'number' ? String(minimum - 1) : 'conformance'
  if (Array.isArray(values)) return 'conformance-unknown'
  if (type === 'boolean') return 'conformance'
  return typeof maxLength === 'number' && maxLength <= 1_000 ? 'x'.repeat(maxLength + 1) : null
}
