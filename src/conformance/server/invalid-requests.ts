// Invalid requests of every claimed operation, one kind at a time.
import { type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import type { JsonMap } from './json.ts'
import { bodyOf, documentOf, parametersOf, retold } from './operations.ts'
import { type Mutation, mutants } from './schemas.ts'
import type { Facts } from './senders.ts'
import { facts, judged, type Sent, valuesOf } from './survey.ts'
import type { Place, Trial } from './trial.ts'

export type InvalidKind = Mutation | 'unknown-query' | 'query-values' | 'malformed-json' | 'content-type'

export interface Invalid extends Sent {
  kind: InvalidKind
  at: string
}

/** The invalid requests of one kind, over all claimed operations. */
export async function invalidRequests(t: Trial, kind: InvalidKind): Promise<Invalid[]> {
  return t.once(`invalid requests ${kind}`, async () => {
    const known = await facts(t)
    const sent: Invalid[] = []
    for (const info of operationManifest.filter((one) => judged(t, one) && one.refuses_input && one.body !== 'raw')) {
      for (const { at, place, asked } of requestsOf(info, kind, known)) {
        const answer = await t.call(info.operationId, place, asked)
        sent.push({ info, operation: info.operationId, kind, at, answer })
      }
    }
    return sent
  })
}

interface Request {
  at: string
  place: Place
  asked: { json?: unknown; raw?: string; content_type?: string }
}

function requestsOf(info: OperationInfo, kind: InvalidKind, known: Facts): Request[] {
  const values = { file: 'x', resource: 'x', path: 'x', provider: 'x', ...valuesOf(info, known) }
  const body = bodyOf(info)
  const valid = body?.examples.map((example) => retold(example, known))[0]
  if (kind === 'unknown-query' || kind === 'query-values') return queriesOf(info, kind, values, valid)
  if (!body || valid === undefined) return []
  const place = { values }
  if (kind === 'malformed-json') return [{ at: '', place, asked: { raw: '{"conformance":' } }]
  if (kind === 'content-type') {
    return [{ at: '', place, asked: { raw: JSON.stringify(valid), content_type: 'text/plain' } }]
  }
  return mutants(body.schema, valid)
    .filter((mutant) => mutant.kind === kind)
    .map(({ at, value }) => ({ at, place, asked: { json: value } }))
}

const OPEN = 'x-eov-allow-unknown-query-parameters'

function queriesOf(info: OperationInfo, kind: InvalidKind, values: Record<string, string>, valid: unknown): Request[] {
  const asked = valid === undefined ? {} : { json: valid }
  // A valid body beside an unknown query could be carried out where the query is not refused.
  if (info.method !== 'get') return []
  if (kind === 'unknown-query') {
    return OPEN in documentOf(info)
      ? []
      : [{ at: 'conformance_unknown', place: { values, query: 'conformance_unknown=1' }, asked }]
  }
  return parametersOf(info)
    .filter((parameter) => parameter.in === 'query')
    .flatMap(({ name, schema }) => {
      const wrong = wrongQuery(schema)
      return wrong === null ? [] : [{ at: name, place: { values, query: `${name}=${wrong}` }, asked }]
    })
}

/** A text that the schema of a query parameter refuses, or null. */
function wrongQuery({ type, minimum, enum: values, maxLength }: JsonMap): string | null {
  if (type === 'integer' || type === 'number') return typeof minimum === 'number' ? String(minimum - 1) : 'conformance'
  if (Array.isArray(values)) return 'conformance-unknown'
  if (type === 'boolean') return 'conformance'
  return typeof maxLength === 'number' && maxLength <= 1_000 ? 'x'.repeat(maxLength + 1) : null
}
