// Log lines of the authenticator, and which of two hosts counts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type AuthenticationSettings, NO_TOKEN_VERIFIERS } from '../../src/access/authentication-rules.ts'
import { createAuthenticator } from '../../src/access/authenticator.ts'
import type { RequestFacts } from '../../src/access/request-facts.ts'
import type { Log } from '../../src/log.ts'
import { systemPlatform } from '../../src/platform.ts'
import { startServer } from '../helpers/server.ts'
import { exchange, FACTS, rangesOf, SETTINGS } from './kit.ts'

/** The log lines for these requests, and whether each request was accepted. */
function said(settings: Partial<AuthenticationSettings>, requests: readonly Partial<RequestFacts>[]) {
  const lines: string[] = []
  const told: object[] = []
  const warn = (fields: object, text: string) => {
    told.push(fields)
    lines.push(text)
  }
  const log = { warn } as unknown as Log
  const gate = createAuthenticator({ ...SETTINGS, ...settings }, NO_TOKEN_VERIFIERS, {
    log,
    platform: systemPlatform(),
  })
  const admitted = requests.map((facts) => {
    const verdict = gate({ ...FACTS, ...facts })
    assert.ok(!(verdict instanceof Promise))
    return verdict.principal !== undefined
  })
  return { lines, told, admitted }
}

const PROXIED: Partial<RequestFacts> = {
  forwards: true,
  forwarded_by: 'x-forwarded-for',
  forwarded_for: '203.0.113.7',
}

describe('the authenticator', () => {
  test('checks the single Host header, or the host of an absolute target', async () => {
    await using server = await startServer()
    const cases: [string, number][] = [
      ['GET /api/workflows HTTP/1.1\r\nHost: localhost', 200],
      ['GET /api/workflows HTTP/1.1\r\nHost: evil.example', 401],
      ['GET /api/workflows HTTP/1.1\r\nHost: localhost\r\nHost: evil.example', 401],
      ['GET /api/workflows HTTP/1.1\r\nHost: evil.example\r\nHost: localhost', 401],
      ['GET http://evil.example/api/workflows HTTP/1.1\r\nHost: localhost', 401],
      ['GET http://localhost/api/workflows HTTP/1.1\r\nHost: evil.example', 200],
    ]
    const port = Number(new URL(server.url).port)
    for (const [head, expected] of cases) assert.equal((await exchange(port, head)).status, expected, head)
  })

  test('logs once that a proxy on this host is not trusted', () => {
    const { lines, admitted } = said({}, [{}, PROXIED, PROXIED, {}])
    assert.deepEqual(admitted, [true, false, false, true])
    assert.equal(lines.length, 1)
    assert.match(lines[0]!, /forwarding headers.*HTTP\/1\.0.*SVC_TRUSTED_PROXIES.*not the local user.*rate limit/)
  })

  test('logs it also if loopback callers are not trusted, since they are rate-limited', () => {
    assert.equal(said({ trust_localhost: false }, [{}, PROXIED, PROXIED]).lines.length, 1)
  })

  test('logs each header once with its sender, and at most ten headers', () => {
    const by = (forwarded_by: string): Partial<RequestFacts> => ({ ...PROXIED, forwarded_by })
    const few = said({}, [by('via'), { ...by('via'), peer: '::1' }, { ...by('HTTP/1.0'), peer: '::1' }])
    assert.deepEqual(few.told, [
      { peer: '127.0.0.1', forwarded_by: 'via' },
      { peer: '::1', forwarded_by: 'HTTP/1.0' },
    ])
    const many = Array.from({ length: 50 }, (_, n) => by(`x-forwarded-${'x'.repeat(200)}${n}`))
    const { told } = said({}, [...many, ...many])
    assert.equal(told.length, 10)
    for (const one of told) assert.equal((one as { forwarded_by: string }).forwarded_by.length, 100)
  })

  test('logs an untrusted proxy in a trusted network', () => {
    const peer = '172.17.0.1'
    const { lines, admitted } = said({ trust_local_networks: rangesOf('172.16.0.0/12') }, [
      { peer },
      { ...PROXIED, peer },
    ])
    assert.deepEqual(admitted, [true, false])
    assert.equal(lines.length, 1)
  })

  test('logs nothing about callers that would not be trusted anyway, or about trusted proxies', () => {
    const strangers = { ...PROXIED, peer: '203.0.113.9' }
    assert.deepEqual(said({}, [strangers, {}]).lines, [])
    assert.deepEqual(said({ trusted_proxies: rangesOf('127.0.0.1/32') }, [PROXIED]).lines, [])
  })
})
