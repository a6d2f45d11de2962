// Checks of the error forms of each transport, and of rules for every record.
import { errorCatalogue } from '../../../../generated/errors.ts'
import { schemaValidators } from '../../../../generated/validators-out.js'
import { CheckFindings, expect } from '../check-outcomes.ts'
import { sendInvalidRequests } from '../invalid-requests.ts'
import { isTerminal, pollJobUntil, readHistory, startJob, storeSampleWorkflow } from '../job-actions.ts'
import { canonicalJson, type JsonMap, mapOf, walkMembers } from '../json.ts'
import { exerciseServer } from '../operation-survey.ts'
import type { SuiteContext } from '../suite-context.ts'
import { type SuiteAnswer, toEvidenceParts } from '../target-server.ts'
import type { AreaChecks, RequirementCheck } from './check-types.ts'

const ERROR_SCHEMAS = { api: 'ApiError', sdk: 'SdkError', openai: 'OpenAiError' } as const

export const errorChecks: AreaChecks<'errors' | 'records'> = {
  'server.errors.api-form': createFormCheck('api', '/api/conformance-unknown'),
  'server.errors.sdk-form': createFormCheck('sdk', '/api/sdk/v1/conformance-unknown'),
  'server.errors.openai-form': async (t) => {
    t.requireOperations('listModels')
    return createFormCheck('openai', '/v1/conformance-unknown')(t)
  },
  'server.errors.catalogue': async (t) => {
    const findings = new CheckFindings()
    for (const answer of await collectErrors(t)) {
      const fault = findCatalogueFault(answer)
      findings.addCase(fault === null, () => ({ finding: fault!, ...toEvidenceParts(answer) }))
    }
    findings.throwIfBroken('no error was seen')
  },
  'server.errors.no-cause': async (t) => {
    await collectErrors(t)
    const findings = new CheckFindings()
    for (const answer of t.target.answers.filter(({ status }) => status >= 400)) {
      const told = /\n\s+at \S|\/(home|usr|opt|var|node_modules)\/|node:internal|SQLITE_|SELECT .* FROM/.test(
        answer.text,
      )
      findings.addCase(!told, () => ({ finding: 'an error reveals its cause', ...toEvidenceParts(answer) }))
    }
    findings.throwIfBroken('no error was seen')
  },
  'server.records.timestamps': async (t) => {
    await exerciseServer(t)
    const findings = new CheckFindings()
    for (const answer of t.target.answers.filter(({ path }) => path.startsWith('/api/'))) {
      for (const { key, value } of walkMembers(answer.body)) {
        if (!/^\w+_(at|time)$|^timestamp$/.test(key) || typeof value !== 'string') continue
        const right = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) && !Number.isNaN(Date.parse(value))
        findings.addCase(right, () => ({
          finding: `${key} is ${value}, which is not an RFC 3339 time in UTC`,
          ...toEvidenceParts(answer),
        }))
      }
    }
    findings.throwIfBroken('no timestamp was seen')
  },
  'server.records.secrets-redacted': checkSecretsRedacted,
}

/** All errors, and the answer to an unknown path, must have the error form of their API. */
function createFormCheck(door: keyof typeof ERROR_SCHEMAS, unknown: string): RequirementCheck {
  return async (t) => {
    const findings = new CheckFindings()
    const stray = await t.target.send('GET', unknown)
    await collectErrors(t)
    const ours = t.calls.filter(
      ({ info, answer }) => info.errors === door && answer.status >= 400 && answer.status !== 401,
    )
    for (const answer of [stray, ...ours.map((call) => call.answer)]) {
      if (answer.method === 'HEAD') continue
      const right =
        schemaValidators[ERROR_SCHEMAS[door]](answer.body) &&
        isStatusCode(answer) &&
        (door !== 'sdk' || isFlatForm(answer))
      findings.addCase(right, () => ({
        finding: `an error does not match ${ERROR_SCHEMAS[door]}`,
        ...toEvidenceParts(answer),
      }))
    }
    findings.throwIfBroken('no error was seen')
  }
}

function isStatusCode({ body, status }: SuiteAnswer): boolean {
  return mapOf(mapOf(body).error).code === status
}

function isFlatForm({ body }: SuiteAnswer): boolean {
  const { message, detail, error } = mapOf(body)
  return message === detail && mapOf(error).message === message
}

/** Causes errors of several kinds, and returns the answers with an error object. */
async function collectErrors(t: SuiteContext): Promise<SuiteAnswer[]> {
  await exerciseServer(t)
  await sendInvalidRequests(t, 'malformed-json').catch(() => {})
  if (t.hasOperation('preflightWorkflow'))
    await t.call('preflightWorkflow', {}, { json: { workflow_id: 'conformance-unknown' } })
  if (t.hasOperation('getJobSnapshot')) await t.call('getJobSnapshot', { values: { job_id: 'conformance-unknown' } })
  if (t.hasOperation('getJob')) await t.call('getJob', { values: { id: 'conformance-unknown' } })
  return t.target.answers.filter(({ status, body }) => status >= 400 && typeof mapOf(body).error === 'object')
}

type ErrorInfoByCode = Readonly<Record<string, { status: number; type: string; retryable: boolean } | undefined>>

function findCatalogueFault({ body, status }: SuiteAnswer): string | null {
  const { code, retryable, error } = mapOf(body)
  const { type } = mapOf(error)
  const named = Object.values(errorCatalogue).find((one) => one.type === type)
  if (!named) return `the type ${String(type)} is not in the catalogue`
  if (named.status !== status) return `${String(type)} has the status ${status}, not ${named.status}`
  if (typeof code !== 'string') return null
  const info = (errorCatalogue as ErrorInfoByCode)[code]
  if (!info) return `the code ${code} is not in the catalogue`
  if (info.status !== status || info.type !== type)
    return `${code} has the status ${status} and the type ${String(type)}`
  return info.retryable === retryable ? null : `${code} is called ${retryable ? '' : 'not '}retryable`
}

const STORED_SECRET = 'conformance-secret-0f1e2d3c4b5a'

async function checkSecretsRedacted(t: SuiteContext): Promise<void> {
  t.requireOperations('putSecret', 'deleteSecret')
  const place = { values: { name: 'CONFORMANCE_REDACTED' } }
  t.cleanups.push(() => t.call('deleteSecret', place))
  await t.callExpecting('putSecret', 200, place, { json: { value: STORED_SECRET } })
  const job_id = await startJob(t, await storeSampleWorkflow(t, 'greeting'), { name: `it is ${STORED_SECRET}` })
  const final = (await pollJobUntil(t, job_id, isTerminal)).at(-1)!
  const all: JsonMap = { final, events: await readHistory(t, job_id) }
  expect(!canonicalJson(all).includes(STORED_SECRET), 'a stored secret is repeated', { input: 'name' }, final)
}
