// Both documents before other people's rules, and these rules before seeded faults.
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { config } from '../../codegen.config.ts'
import {
  formatFinding,
  type LintFinding,
  lintAsyncapi,
  lintOpenapi,
} from '../../src/codegen/checks/document-linters.ts'
import { readContract } from '../../src/codegen/documents/contract.ts'
import { readSmallContract } from './small-contract.ts'

const { contract } = readContract(resolve(import.meta.dirname, '../..'), config)

function serious(findings: readonly LintFinding[]): string[] {
  return findings.filter(({ severity }) => severity !== 'info').map(formatFinding)
}

describe('lint', () => {
  test('the OpenAPI document keeps every recommended rule', async () => {
    assert.deepEqual(serious(await lintOpenapi(contract.openapi)), [])
  })

  test('the AsyncAPI document gives no error and no warning', async () => {
    assert.deepEqual(serious(await lintAsyncapi(contract.asyncapi)), [])
  })

  test('a fault in an OpenAPI document is found', async () => {
    const { openapi } = readSmallContract(['openapi.yaml', "servers: [{ url: 'http://127.0.0.1:7777' }]", '']).contract
    const rules = (await lintOpenapi(openapi)).map(({ rule, severity }) => `${severity} ${rule}`)
    assert.deepEqual(rules, ['error no-empty-servers'])
  })

  test('a fault in an AsyncAPI document is found', async () => {
    const { asyncapi } = readSmallContract(['channels/ws.yaml', 'address: /ws', 'address: 7']).contract
    const places = (await lintAsyncapi(asyncapi)).flatMap(({ severity, place }) =>
      severity === 'error' ? [place] : [],
    )
    assert.ok(places.includes('#/channels/ws/address'), places.join('\n'))
  })
})
