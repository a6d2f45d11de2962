// HTTP in general: valid and invalid requests of every claimed operation, and what holds for every answer.
import { operationManifest } from '../../../../generated/operations.ts'
import { responseValidators } from '../../../../generated/validators-out.js'
import { methodsOf } from '../claims.ts'
import { type InvalidKind, invalidRequests } from '../invalid-requests.ts'
import { workflow } from '../jobs.ts'
import { listOf, mapOf, namesOf } from '../json.ts'
import { headersOf, isSuccess } from '../operations.ts'
import { everything, judged, validRequests } from '../survey.ts'
import { isJson, shown } from '../target.ts'
import type { Call, Trial } from '../trial.ts'
import { expect, Findings } from '../verdicts.ts'
import type { Check, ChecksOf } from './check.ts'
import { charset, nullsMeanAbsent, orderOfChecks, revisions } from './http-more.ts'

const NOTHING = 'the server claims no operation with such a request'

export const httpChecks: ChecksOf<'http'> = {
  'server.http.valid-requests': async (t) => {
    const findings = new Findings()
    for (const { info, operation, answer } of await validRequests(t)) {
      const finding = `${operation} answers a valid request with ${answer.status}`
      findings.see(isSuccess(info, answer.status), () => ({ finding, ...shown(answer) }))
    }
    findings.settle(NOTHING)
  },
  'server.http.declared-statuses': always(({ info, answer }) => {
    return String(answer.status) in mapOf(responseValidators[info.operationId])
      ? null
      : `${info.operationId} does not declare ${answer.status}`
  }),
  'server.http.response-bodies': always(bodyFault),
  'server.http.content-types': always(({ info, answer }) => {
    const wanted = responseValidators[info.operationId]?.[answer.status]
    return !wanted || isJson(answer.headers) ? null : `${info.operationId} answers ${answer.headers['content-type']}`
  }),
  'server.http.request-id-echoed': always(({ info, answer }) => {
    const { sent, headers } = answer
    return headers['x-request-id'] === sent.headers['X-Request-Id'] ? null : `${info.operationId} echoes another id`
  }),
  'server.http.request-id-generated': async (t) => {
    const findings = new Findings()
    for (const id of ['', 'x'.repeat(129), 'with space']) {
      const answer = await t.target.send('GET', '/api/conformance-unknown', { headers: { 'X-Request-Id': id } })
      const given = String(answer.headers['x-request-id'] ?? '')
      const finding = `X-Request-Id is ${JSON.stringify(given)} where none could be used`
      findings.see(/^[\x21-\x7e]{1,128}$/.test(given) && given !== id, () => ({ finding, ...shown(answer) }))
    }
    findings.settle('')
  },
  'server.http.declared-headers': always(({ info, answer }) => {
    if (answer.status >= 400) return null
    const wanted = headersOf(info, answer.status).filter((name) => ['location', 'etag'].includes(name.toLowerCase()))
    const missing = wanted.filter((name) => answer.headers[name.toLowerCase()] === undefined)
    return missing.length === 0 ? null : `${info.operationId} lacks ${missing.join(', ')}`
  }),
  'server.http.revisions': revisions,
  'server.http.methods': methods,
  'server.http.unknown-query': refuses('unknown-query', 400),
  'server.http.query-values': refuses('query-values', 400),
  'server.http.malformed-json': refuses('malformed-json', 400),
  'server.http.body-content-type': refuses('content-type', 415),
  'server.http.missing-required': refuses('missing-required', 400),
  'server.http.wrong-type': refuses('wrong-type', 400),
  'server.http.unknown-property': refuses('unknown-property', 400),
  'server.http.out-of-bounds': refuses('out-of-bounds', 400),
  'server.http.null-refused': refuses('null', 400),
  'server.http.null-means-absent': nullsMeanAbsent,
  'server.http.all-problems': async (t) => {
    t.needs('preflightWorkflow')
    const { id } = await workflow(t, 'greeting')
    const json = { workflow_id: id, level: 'conformance', conformance_unknown: 1 }
    const answer = await t.call('preflightWorkflow', {}, { json })
    const paths = namesOf(mapOf(mapOf(answer.body).error).problems, 'path')
    const { request, answer: got } = shown(answer)
    const told = (name: string) => paths.some((path) => path.includes(name))
    expect(told('level') && told('conformance_unknown'), 'two problems are not both listed with paths', request, got)
  },
  'server.http.order-of-checks': orderOfChecks,
  'server.http.charset': charset,
}

/** A rule that holds for every answer of an operation. */
function always(fault: (call: Call) => string | null): Check {
  return async (t) => {
    await everything(t)
    const findings = new Findings()
    for (const call of t.calls) {
      const found = fault(call)
      findings.see(found === null, () => ({ finding: found!, ...shown(call.answer) }))
    }
    findings.settle(NOTHING)
  }
}

function bodyFault({ info, answer }: Call): string | null {
  const validate = responseValidators[info.operationId]?.[answer.status]
  if (!validate || answer.method === 'HEAD') return null
  // A caller that is refused before any handler gets a body of another form.
  if (answer.body === undefined) return `${info.operationId} answers ${answer.status} with no JSON`
  if (validate(answer.body)) return null
  const [first] = listOf(validate.errors).map(mapOf)
  return `the body of ${info.operationId} ${answer.status} is not the contract's: ${first?.instancePath} ${first?.message}`
}

function refuses(kind: InvalidKind, status: number): Check {
  return async (t) => {
    const findings = new Findings()
    for (const { operation, at, answer } of await invalidRequests(t, kind)) {
      const finding = `${operation} answers ${answer.status}, not ${status}, to ${kind}${at && ` at ${at}`}`
      findings.see(answer.status === status, () => ({ finding, ...shown(answer) }))
    }
    findings.settle(NOTHING)
  }
}

async function methods(t: Trial): Promise<void> {
  const findings = new Findings()
  const paths = new Set(operationManifest.filter((info) => judged(t, info)).map(({ path }) => path))
  for (const path of paths) {
    const taken = methodsOf(t.claims, path)
    if (taken.includes('PATCH')) continue
    const answer = await t.target.send('PATCH', path.replace(/\{\w+\}/g, 'conformance'))
    const allowed = (answer.headers.allow ?? '').split(/,\s*/)
    const right = answer.status === 405 && taken.every((method) => allowed.includes(method))
    findings.see(right, () => ({
      finding: `PATCH ${path} is no 405 that allows ${taken.join(', ')}`,
      ...shown(answer),
    }))
  }
  findings.settle(NOTHING)
}
