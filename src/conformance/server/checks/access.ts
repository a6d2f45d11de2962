// Who may call, as far as one token or none can tell.
import { type OperationInfo, operationManifest } from '../../../../generated/operations.ts'
import { workflow } from '../jobs.ts'
import { mapOf } from '../json.ts'
import { openSocket } from '../socket.ts'
import { type Answer, shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings, Skip } from '../verdicts.ts'
import type { ChecksOf } from './check.ts'
import { othersJobs } from './other-principal.ts'

/** Of the right prefix; whether it was ever issued does not matter where it is refused. */
const CONFINED = 'nta_conformance'

export const accessChecks: ChecksOf<'access'> = {
  'server.access.before-routing': async (t) => {
    const findings = new Findings()
    if (!(await wantsCredential(t))) throw new Skip('the server wants no credential of this caller')
    const places = operationManifest
      .filter(({ access }) => access !== 'public')
      .map(({ method, path }) => [method, path])
    for (const [method, path] of [['get', '/api/conformance-unknown'], ...places] as [string, string][]) {
      const answer = await t.target.send(method.toUpperCase(), path.replace(/\{\w+\}/g, 'x'), { anonymous: true })
      findings.see(isRefusal(answer, method), () => ({
        finding: `${method} ${path} is no plain 401`,
        ...shown(answer),
      }))
    }
    findings.settle('')
  },
  'server.access.confined-token': async (t) => {
    const findings = new Findings()
    for (const path of ['/api/sdk/v1/capabilities', '/api/jobs', '/api/conformance-unknown']) {
      const answer = await t.target.send('GET', path, { headers: { Authorization: `Bearer ${CONFINED}` } })
      const right = answer.status === 401 && mapOf(answer.body).error === 'invalid_token'
      findings.see(right, () => ({
        finding: `${path} takes a token for /mcp, or refuses it otherwise`,
        ...shown(answer),
      }))
    }
    findings.settle('')
  },
  'server.access.refused-upgrade': async (t) => {
    const opened = await openSocket(t.target, { headers: { Authorization: `Bearer ${CONFINED}` } })
    if ('socket' in opened) opened.socket[Symbol.dispose]()
    expect(!('socket' in opened), 'the upgrade is accepted with a token for /mcp')
    expect(opened.status === 401 && opened.text === '', 'the refusal is no bare 401', { path: '/ws' }, opened)
  },
  'server.access.public': async (t) => {
    const findings = new Findings()
    for (const info of operationManifest.filter((one) => isProbe(t, one))) {
      const answer = await t.call(info.operationId, {}, { anonymous: true })
      const finding = `${info.operationId} is public and answers ${answer.status} without a credential`
      findings.see(answer.status !== 401 && answer.status !== 403, () => ({ finding, ...shown(answer) }))
    }
    findings.settle('the server claims no public operation')
  },
  'server.access.query-token': async (t) => {
    const { token } = t.target
    if (token === null) throw new Skip('no token is given: give --token')
    if (!(await wantsCredential(t))) throw new Skip('the server wants no credential of this caller')
    const opened = await openSocket(t.target, { headers: {}, query: `api_key=${encodeURIComponent(token)}` })
    if ('socket' in opened) opened.socket[Symbol.dispose]()
    expect('socket' in opened, 'the upgrade is refused with the token as api_key', { path: '/ws?api_key=…' }, opened)
  },
  'server.access.others-jobs': othersJobs,
  'server.access.same-principal': async (t) => {
    t.needsCommands('get_workflow_interface')
    const { id } = await workflow(t, 'greeting')
    const socket = await t.socket()
    const reply = await socket.ask('get_workflow_interface', { id })
    expect(mapOf(reply.result).workflow_id === id, 'the socket does not see a workflow made over HTTP', { id }, reply)
  },
}

/** Whether anything claimed that is not public is refused to who sends nothing. */
async function wantsCredential(t: Trial): Promise<boolean> {
  const asked = operationManifest.find(({ operationId, access, method, path }) => {
    return access === 'principal' && method === 'get' && !path.includes('{') && t.serves(operationId)
  })
  if (!asked) throw new Skip('the server claims no operation that wants a credential')
  return t.once('wants credential', async () => {
    const { status } = await t.target.send('GET', asked.path, { anonymous: true })
    return status === 401
  })
}

function isRefusal({ status, body, text }: Answer, method: string): boolean {
  return status === 401 && (method === 'head' ? text === '' : typeof mapOf(body).error === 'string')
}

function isProbe(t: Trial, { operationId, method, access, path }: OperationInfo): boolean {
  return t.serves(operationId) && access === 'public' && method === 'get' && !path.includes('{')
}
