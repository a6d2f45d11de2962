// General checks of HTTP: valid and invalid requests of every claimed operation, and rules for every answer.
import { operationManifest } from '../../../../generated/operations.ts'
import { responseValidators } from '../../../../generated/validators-out.js'
import { CheckFindings, expect } from '../check-outcomes.ts'
import { isSuccessStatus, listResponseHeaders } from '../contract-operations.ts'
import { type InvalidRequestKind, sendInvalidRequests } from '../invalid-requests.ts'
import { storeSampleWorkflow } from '../job-actions.ts'
import { listOf, mapOf, pluckTexts } from '../json.ts'
import { exerciseServer, isSurveyed, sendValidRequests } from '../operation-survey.ts'
import { listClaimedMethods } from '../server-claims.ts'
import type { OperationCall, SuiteContext } from '../suite-context.ts'
import { isJsonAnswer, toEvidenceParts } from '../target-server.ts'
import type { AreaChecks, RequirementCheck } from './check-types.ts'
import {
  checkCharset,
  checkNullMeansAbsent,
  checkRevisions,
  checkValidationOrder,
} from './http-revisions-nulls-and-order.ts'

const NO_SUCH_REQUEST = 'the server claims no operation with such a request'

export const httpChecks: AreaChecks<'http'> = {
  'server.http.valid-requests': async (t) => {
    const findings = new CheckFindings()
    for (const { info, operation, answer } of await sendValidRequests(t)) {
      const finding = `${operation} answers a valid request with ${answer.status}`
      findings.addCase(isSuccessStatus(info, answer.status), () => ({ finding, ...toEvidenceParts(answer) }))
    }
    findings.throwIfBroken(NO_SUCH_REQUEST)
  },
  'server.http.declared-statuses': createAnswerCheck(({ info, answer }) => {
    return String(answer.status) in mapOf(responseValidators[info.operationId])
      ? null
      : `${info.operationId} does not declare ${answer.status}`
  }),
  'server.http.response-bodies': createAnswerCheck(findBodyFault),
  'server.http.content-types': createAnswerCheck(({ info, answer }) => {
    const wanted = responseValidators[info.operationId]?.[answer.status]
    return !wanted || isJsonAnswer(answer.headers)
      ? null
      : `${info.operationId} answers ${answer.headers['content-type']}`
  }),
  'server.http.request-id-echoed': createAnswerCheck(({ info, answer }) => {
    const { sent, headers } = answer
    return headers['x-request-id'] === sent.headers['X-Request-Id'] ? null : `${info.operationId} echoes a different id`
  }),
  'server.http.request-id-generated': async (t) => {
    const findings = new CheckFindings()
    for (const id of ['', 'x'.repeat(129), 'with space']) {
      const answer = await t.target.send('GET', '/api/conformance-unknown', { headers: { 'X-Request-Id': id } })
      const given = String(answer.headers['x-request-id'] ?? '')
      const finding = `X-Request-Id is ${JSON.stringify(given)} instead of a generated id`
      findings.addCase(/^[\x21-\x7e]{1,128}$/.test(given) && given !== id, () => ({
        finding,
        ...toEvidenceParts(answer),
      }))
    }
    findings.throwIfBroken('')
  },
  'server.http.declared-headers': createAnswerCheck(({ info, answer }) => {
    if (answer.status >= 400) return null
    const wanted = listResponseHeaders(info, answer.status).filter((name) =>
      ['location', 'etag'].includes(name.toLowerCase()),
    )
    const missing = wanted.filter((name) => answer.headers[name.toLowerCase()] === undefined)
    return missing.length === 0 ? null : `${info.operationId} lacks ${missing.join(', ')}`
  }),
  'server.http.revisions': checkRevisions,
  'server.http.methods': checkMethods,
  'server.http.unknown-query': createRefusalCheck('unknown-query', 400),
  'server.http.query-values': createRefusalCheck('query-values', 400),
  'server.http.malformed-json': createRefusalCheck('malformed-json', 400),
  'server.http.body-content-type': createRefusalCheck('content-type', 415),
  'server.http.missing-required': createRefusalCheck('missing-required', 400),
  'server.http.wrong-type': createRefusalCheck('wrong-type', 400),
  'server.http.unknown-property': createRefusalCheck('unknown-property', 400),
  'server.http.out-of-bounds': createRefusalCheck('out-of-bounds', 400),
  'server.http.null-refused': createRefusalCheck('null', 400),
  'server.http.null-means-absent': checkNullMeansAbsent,
  'server.http.all-problems': async (t) => {
    t.requireOperations('preflightWorkflow')
    const { id } = await storeSampleWorkflow(t, 'greeting')
    const json = { workflow_id: id, level: 'conformance', conformance_unknown: 1 }
    const answer = await t.call('preflightWorkflow', {}, { json })
    const paths = pluckTexts(mapOf(mapOf(answer.body).error).problems, 'path')
    const { request, answer: got } = toEvidenceParts(answer)
    const told = (name: string) => paths.some((path) => path.includes(name))
    expect(
      told('level') && told('conformance_unknown'),
      'the answer does not list both problems with their paths',
      request,
      got,
    )
  },
  'server.http.order-of-checks': checkValidationOrder,
  'server.http.charset': checkCharset,
}

/** A rule for every answer of an operation. */
function createAnswerCheck(fault: (call: OperationCall) => string | null): RequirementCheck {
  return async (t) => {
    await exerciseServer(t)
    const findings = new CheckFindings()
    for (const call of t.calls) {
      const found = fault(call)
      findings.addCase(found === null, () => ({ finding: found!, ...toEvidenceParts(call.answer) }))
    }
    findings.throwIfBroken(NO_SUCH_REQUEST)
  }
}

function findBodyFault({ info, answer }: OperationCall): string | null {
  const validate = responseValidators[info.operationId]?.[answer.status]
  if (!validate || answer.method === 'HEAD') return null
  // A request that is refused before any handler gets an error body of another form.
  if (answer.body === undefined) return `${info.operationId} answers ${answer.status} without a JSON body`
  if (validate(answer.body)) return null
  const [first] = listOf(validate.errors).map(mapOf)
  return `the body of ${info.operationId} ${answer.status} does not match the contract's schema: ${first?.instancePath} ${first?.message}`
}

function createRefusalCheck(kind: InvalidRequestKind, status: number): RequirementCheck {
  return async (t) => {
    const findings = new CheckFindings()
    for (const { operation, at, answer } of await sendInvalidRequests(t, kind)) {
      const finding = `${operation} answers ${answer.status}, not ${status}, to ${kind}${at && ` at ${at}`}`
      findings.addCase(answer.status === status, () => ({ finding, ...toEvidenceParts(answer) }))
    }
    findings.throwIfBroken(NO_SUCH_REQUEST)
  }
}

async function checkMethods(t: SuiteContext): Promise<void> {
  const findings = new CheckFindings()
  const paths = new Set(operationManifest.filter((info) => isSurveyed(t, info)).map(({ path }) => path))
  for (const path of paths) {
    const taken = listClaimedMethods(t.claims, path)
    if (taken.includes('PATCH')) continue
    const answer = await t.target.send('PATCH', path.replace(/\{\w+\}/g, 'conformance'))
    const allowed = (answer.headers.allow ?? '').split(/,\s*/)
    const right = answer.status === 405 && taken.every((method) => allowed.includes(method))
    findings.addCase(right, () => ({
      finding: `PATCH ${path} is not answered with 405 and Allow: ${taken.join(', ')}`,
      ...toEvidenceParts(answer),
    }))
  }
  findings.throwIfBroken(NO_SUCH_REQUEST)
}
