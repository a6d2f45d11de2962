// Tests the preflight that is stored with its job: it is bounded, however much the preflight found, with a count of the omitted items.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JobSnapshot, PreflightIssue, PreflightRequirement, PreflightSummary } from '../../../generated/types.ts'
import { truncatePreflight } from '../../../src/lifecycle/preflight/summary-truncation.ts'
import { call } from '../../helpers/http.ts'
import type { GatedServer } from '../../jobs/kit.ts'
import { QUICK, startPreview, submissionOf, submitted, workflow } from '../jobs-kit.ts'
import { preflight } from '../preflight-kit.ts'

const MOST_BYTES = 70 * 1024

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

/** Returns the messages about omitted items. */
const leftOut = ({ issues }: PreflightSummary) =>
  issues.filter(({ code }) => code.startsWith('more_')).map(({ code, message }) => `${code}: ${message}`)

const asset = (id: string, blocking: boolean): PreflightRequirement => {
  return { kind: 'asset', id, name: id, status: 'available', blocking, message: null }
}

function summaryOf(more: Partial<PreflightSummary>): PreflightSummary {
  const common = { version: 1, level: 'execution', workflow_id: 'wf', workflow_etag: 'e', runnable: true } as const
  return { ...common, issues: [], requirements: [], cost: null, ...more }
}

const numbered = <T>(count: number, one: (at: number) => T) => Array.from({ length: count }, (_, at) => one(at))

describe('the stored preflight', () => {
  test('is the whole one, if it is small', () => {
    const summary = summaryOf({
      requirements: numbered(200, (at) => asset(`a${at}`, at % 2 === 0)),
      cost: {
        amount: 1,
        currency: 'USD',
        confidence: 'partial',
        unknown_cost_nodes: numbered(200, String),
        approval_required: false,
      },
    })
    assert.deepEqual(truncatePreflight(summary), summary)
  })

  test('has blocking requirements before others, in their order, and a count of the rest', () => {
    const requirements = numbered(1_000, (at) => asset(`a${at}`.padStart(6, '0'), at % 10 === 0))
    const kept = truncatePreflight(summaryOf({ requirements }))
    assert.equal(kept.requirements.length, 200)
    assert.equal(kept.requirements.filter(({ blocking }) => blocking).length, 100)
    const ids = kept.requirements.map(({ id }) => id)
    assert.deepEqual(ids, [...ids].sort())
    assert.deepEqual(leftOut(kept), ['more_requirements: The preflight named 800 more requirements.'])
  })

  test('has errors before warnings, as many as allowed', () => {
    const issue = (at: number): PreflightIssue => {
      const severity = at >= 150 ? 'error' : 'warning'
      return { severity, code: `code_${at}`, message: 'x', node_id: null, pin_name: null }
    }
    const kept = truncatePreflight(summaryOf({ issues: numbered(200, issue) }))
    assert.equal(kept.issues.filter(({ severity }) => severity === 'error').length, 50)
    assert.equal(kept.issues.length, 101)
    assert.deepEqual(leftOut(kept), ['more_issues: The preflight named 100 more issues.'])
  })

  test('never exceeds its bytes, and a large item does not keep out smaller ones', () => {
    const huge = 'x'.repeat(100_000)
    const long = 'ü'.repeat(500)
    const kept = truncatePreflight(
      summaryOf({
        issues: numbered(90, (at) => ({
          severity: 'warning',
          code: 'x',
          message: `${at}${long}`,
          node_id: huge.slice(at),
          pin_name: null,
        })),
        requirements: [asset(huge, true), ...numbered(150, (at) => asset(`${at}${long}`, true)), asset('small', true)],
        cost: {
          amount: null,
          currency: null,
          confidence: 'unknown',
          unknown_cost_nodes: [huge, ...numbered(5_000, (at) => `node-${at}`)],
          approval_required: false,
        },
      }),
    )
    assert.ok(bytesOf(kept) <= MOST_BYTES, `${bytesOf(kept)} bytes`)
    assert.ok(kept.requirements.some(({ id }) => id === 'small'))
    assert.equal(kept.cost?.unknown_cost_nodes.length, 200)
    assert.equal(leftOut(kept).length, 3)
    assert.ok(
      leftOut(kept).includes('more_unknown_cost_nodes: The preflight named 4801 more nodes whose cost is not known.'),
    )
  })
})

describe('a submission with very many requirements', () => {
  let server: GatedServer
  before(async () => {
    server = await startPreview()
  })
  after(() => server[Symbol.asyncDispose]())

  test('is answered with the small preflight that its snapshots show', async () => {
    const of = await workflow(server, QUICK)
    // The assets are mentioned and not needed, so they let the job run.
    const text = numbered(3_000, (at) => `asset://${'x'.repeat(200)}${at}`).join(' ')
    const inputs = { in: text }
    const whole = await preflight(server, { workflow_id: of.id, level: 'execution', inputs })
    assert.ok(bytesOf(whole) > 500_000)
    const { job_id, preflight: told } = await submitted(server, submissionOf(of, { inputs }))
    const { body } = await call<JobSnapshot>(server, 'GET', `/api/sdk/v1/jobs/${job_id}`)
    assert.deepEqual(body.preflight, told)
    assert.ok(bytesOf(told) <= MOST_BYTES, `${bytesOf(told)} bytes`)
    const left = whole.requirements.length - told.requirements.length
    assert.deepEqual(leftOut(told), [`more_requirements: The preflight named ${left} more requirements.`])
    assert.equal(told.runnable, true)
  })
})
