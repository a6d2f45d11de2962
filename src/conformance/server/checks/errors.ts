// The error forms of each door, and what every record keeps to.
import { errorCatalogue } from '../../../../generated/errors.ts'
import { schemaValidators } from '../../../../generated/validators-out.js'
import { invalidRequests } from '../invalid-requests.ts'
import { history, isTerminal, start, watch, workflow } from '../jobs.ts'
import { canonical, type JsonMap, mapOf, members } from '../json.ts'
import { everything } from '../survey.ts'
import { type Answer, shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings } from '../verdicts.ts'
import type { Check, ChecksOf } from './check.ts'

const DOORS = { api: 'ApiError', sdk: 'SdkError', openai: 'OpenAiError' } as const

export const errorChecks: ChecksOf<'errors' | 'records'> = {
  'server.errors.api-form': form('api', '/api/conformance-unknown'),
  'server.errors.sdk-form': form('sdk', '/api/sdk/v1/conformance-unknown'),
  'server.errors.openai-form': async (t) => {
    t.needs('listModels')
    return form('openai', '/v1/conformance-unknown')(t)
  },
  'server.errors.catalogue': async (t) => {
    const findings = new Findings()
    for (const answer of await errorsOf(t)) {
      const fault = catalogueFault(answer)
      findings.see(fault === null, () => ({ finding: fault!, ...shown(answer) }))
    }
    findings.settle('no error was seen')
  },
  'server.errors.no-cause': async (t) => {
    await errorsOf(t)
    const findings = new Findings()
    for (const answer of t.target.answers.filter(({ status }) => status >= 400)) {
      const told = /\n\s+at \S|\/(home|usr|opt|var|node_modules)\/|node:internal|SQLITE_|SELECT .* FROM/.test(
        answer.text,
      )
      findings.see(!told, () => ({ finding: 'an error tells of its cause', ...shown(answer) }))
    }
    findings.settle('no error was seen')
  },
  'server.records.timestamps': async (t) => {
    await everything(t)
    const findings = new Findings()
    for (const answer of t.target.answers.filter(({ path }) => path.startsWith('/api/'))) {
      for (const { key, value } of members(answer.body)) {
        if (!/^\w+_(at|time)$|^timestamp$/.test(key) || typeof value !== 'string') continue
        const right = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) && !Number.isNaN(Date.parse(value))
        findings.see(right, () => ({ finding: `${key} is ${value}, no RFC 3339 time in UTC`, ...shown(answer) }))
      }
    }
    findings.settle('no timestamp was seen')
  },
  'server.records.secrets-redacted': secretsRedacted,
}

/** An unknown path and everything refused must have the form of their door. */
function form(door: keyof typeof DOORS, unknown: string): Check {
  return async (t) => {
    const findings = new Findings()
    const stray = await t.target.send('GET', unknown)
    await errorsOf(t)
    const ours = t.calls.filter(
      ({ info, answer }) => info.errors === door && answer.status >= 400 && answer.status !== 401,
    )
    for (const answer of [stray, ...ours.map((call) => call.answer)]) {
      if (answer.method === 'HEAD') continue
      const right =
        schemaValidators[DOORS[door]](answer.body) && statusIsCode(answer) && (door !== 'sdk' || isFlat(answer))
      findings.see(right, () => ({ finding: `an error is no ${DOORS[door]}`, ...shown(answer) }))
    }
    findings.settle('no error was seen')
  }
}

function statusIsCode({ body, status }: Answer): boolean {
  return mapOf(mapOf(body).error).code === status
}

function isFlat({ body }: Answer): boolean {
  const { message, detail, error } = mapOf(body)
  return message === detail && mapOf(error).message === message
}

/** Makes errors of several kinds, and gives those with an object as error. */
async function errorsOf(t: Trial): Promise<Answer[]> {
  await everything(t)
  await invalidRequests(t, 'malformed-json').catch(() => {})
  if (t.serves('preflightWorkflow'))
    await t.call('preflightWorkflow', {}, { json: { workflow_id: 'conformance-unknown' } })
  if (t.serves('getJobSnapshot')) await t.call('getJobSnapshot', { values: { job_id: 'conformance-unknown' } })
  if (t.serves('getJob')) await t.call('getJob', { values: { id: 'conformance-unknown' } })
  return t.target.answers.filter(({ status, body }) => status >= 400 && typeof mapOf(body).error === 'object')
}

type Catalogue = Readonly<Record<string, { status: number; type: string; retryable: boolean } | undefined>>

function catalogueFault({ body, status }: Answer): string | null {
  const { code, retryable, error } = mapOf(body)
  const { type } = mapOf(error)
  const named = Object.values(errorCatalogue).find((one) => one.type === type)
  if (!named) return `the type ${String(type)} is not in the catalogue`
  if (named.status !== status) return `${String(type)} comes with ${status}, not ${named.status}`
  if (typeof code !== 'string') return null
  const info = (errorCatalogue as Catalogue)[code]
  if (!info) return `the code ${code} is not in the catalogue`
  if (info.status !== status || info.type !== type) return `${code} comes with ${status} and ${String(type)}`
  return info.retryable === retryable ? null : `${code} is called ${retryable ? '' : 'not '}retryable`
}

const SECRET = 'conformance-secret-0f1e2d3c4b5a'

async function secretsRedacted(t: Trial): Promise<void> {
  t.needs('putSecret', 'deleteSecret')
  const place = { values: { name: 'CONFORMANCE_REDACTED' } }
  t.cleanups.push(() => t.call('deleteSecret', place))
  await t.good('putSecret', 200, place, { json: { value: SECRET } })
  const job_id = await start(t, await workflow(t, 'greeting'), { name: `it is ${SECRET}` })
  const final = (await watch(t, job_id, isTerminal)).at(-1)!
  const all: JsonMap = { final, events: await history(t, job_id) }
  expect(!canonical(all).includes(SECRET), 'a stored secret is repeated', { input: 'name' }, final)
}
