// Checks of access, as far as one token or none can show it.
import { type OperationInfo, operationManifest } from '../../../../generated/operations.ts'
import { CheckFindings, CheckSkipped, expect } from '../check-outcomes.ts'
import { storeSampleWorkflow } from '../job-actions.ts'
import { mapOf } from '../json.ts'
import type { SuiteContext } from '../suite-context.ts'
import { openSuiteSocket } from '../suite-socket.ts'
import { type SuiteAnswer, toEvidenceParts } from '../target-server.ts'
import type { AreaChecks } from './check-types.ts'
import { checkJobsOfOtherPrincipal } from './other-principal.ts'

/** The prefix is right. The token is refused, whether it was issued or not. */
const CONFINED_TOKEN = 'nta_conformance'

export const accessChecks: AreaChecks<'access'> = {
  'server.access.before-routing': async (t) => {
    const findings = new CheckFindings()
    if (!(await requiresCredential(t)))
      throw new CheckSkipped('the server does not require a credential from this caller')
    const places = operationManifest
      .filter(({ access }) => access !== 'public')
      .map(({ method, path }) => [method, path])
    for (const [method, path] of [['get', '/api/conformance-unknown'], ...places] as [string, string][]) {
      const answer = await t.target.send(method.toUpperCase(), path.replace(/\{\w+\}/g, 'x'), { anonymous: true })
      findings.addCase(isPlainRefusal(answer, method), () => ({
        finding: `${method} ${path} is not answered with a plain 401`,
        ...toEvidenceParts(answer),
      }))
    }
    findings.throwIfBroken('')
  },
  'server.access.confined-token': async (t) => {
    const findings = new CheckFindings()
    for (const path of ['/api/sdk/v1/capabilities', '/api/jobs', '/api/conformance-unknown']) {
      const answer = await t.target.send('GET', path, { headers: { Authorization: `Bearer ${CONFINED_TOKEN}` } })
      const right = answer.status === 401 && mapOf(answer.body).error === 'invalid_token'
      findings.addCase(right, () => ({
        finding: `${path} accepts a token for /mcp, or refuses it with another error`,
        ...toEvidenceParts(answer),
      }))
    }
    findings.throwIfBroken('')
  },
  'server.access.refused-upgrade': async (t) => {
    const opened = await openSuiteSocket(t.target, { headers: { Authorization: `Bearer ${CONFINED_TOKEN}` } })
    if ('socket' in opened) opened.socket[Symbol.dispose]()
    expect(!('socket' in opened), 'the upgrade is accepted with a token for /mcp')
    expect(
      opened.status === 401 && opened.text === '',
      'the upgrade is not refused with a bare 401',
      { path: '/ws' },
      opened,
    )
  },
  'server.access.public': async (t) => {
    const findings = new CheckFindings()
    for (const info of operationManifest.filter((one) => isPublicProbe(t, one))) {
      const answer = await t.call(info.operationId, {}, { anonymous: true })
      const finding = `${info.operationId} is public and answers ${answer.status} without a credential`
      findings.addCase(answer.status !== 401 && answer.status !== 403, () => ({ finding, ...toEvidenceParts(answer) }))
    }
    findings.throwIfBroken('the server claims no public operation')
  },
  'server.access.query-token': async (t) => {
    const { token } = t.target
    if (token === null) throw new CheckSkipped('no token was given: set --token')
    if (!(await requiresCredential(t)))
      throw new CheckSkipped('the server does not require a credential from this caller')
    const opened = await openSuiteSocket(t.target, { headers: {}, query: `api_key=${encodeURIComponent(token)}` })
    if ('socket' in opened) opened.socket[Symbol.dispose]()
    expect('socket' in opened, 'the upgrade is refused with the token as api_key', { path: '/ws?api_key=…' }, opened)
  },
  'server.access.others-jobs': checkJobsOfOtherPrincipal,
  'server.access.same-principal': async (t) => {
    t.requireCommands('get_workflow_interface')
    const { id } = await storeSampleWorkflow(t, 'greeting')
    const socket = await t.openSocket()
    const reply = await socket.request('get_workflow_interface', { id })
    expect(mapOf(reply.result).workflow_id === id, 'the socket does not see a workflow made over HTTP', { id }, reply)
  },
}

/** Whether a claimed operation that is not public refuses a request without a credential. */
async function requiresCredential(t: SuiteContext): Promise<boolean> {
  const asked = operationManifest.find(({ operationId, access, method, path }) => {
    return access === 'principal' && method === 'get' && !path.includes('{') && t.hasOperation(operationId)
  })
  if (!asked) throw new CheckSkipped('the server claims no operation that requires a credential')
  return t.memoize('wants credential', async () => {
    const { status } = await t.target.send('GET', asked.path, { anonymous: true })
    return status === 401
  })
}

function isPlainRefusal({ status, body, text }: SuiteAnswer, method: string): boolean {
  return status === 401 && (method === 'head' ? text === '' : typeof mapOf(body).error === 'string')
}

function isPublicProbe(t: SuiteContext, { operationId, method, access, path }: OperationInfo): boolean {
  return t.hasOperation(operationId) && access === 'public' && method === 'get' && !path.includes('{')
}
