// The rules of Local mode, with many spellings of addresses, hosts and origins.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isLoopbackText, resolveClientAddress } from '../../src/access/client-address.ts'
import { isHostAllowed, type LocalTrustSettings, resolveLocalPrincipal } from '../../src/access/local-trust.ts'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import type { RequestFacts } from '../../src/access/request-facts.ts'
import { FACTS, SETTINGS } from './kit.ts'

function admitted(facts: Partial<RequestFacts>, settings: Partial<LocalTrustSettings> = {}): boolean {
  const all = { ...FACTS, ...facts }
  const principal = resolveLocalPrincipal(all, resolveClientAddress(all, []), { ...SETTINGS, ...settings })
  assert.ok(principal === null || principal === LOCAL_PRINCIPAL)
  return principal !== null
}

describe('the peer', () => {
  const loopback = [
    '127.0.0.1',
    '127.0.0.2',
    '127.255.255.254',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::1%lo',
    '::ffff:127.0.0.1',
    '::FFFF:127.1.2.3',
    '::ffff:7f00:1',
  ]
  const others = [
    '10.0.0.1',
    '0.0.0.0',
    '::',
    '192.168.1.2',
    '128.0.0.1',
    '::ffff:10.0.0.1',
    '::2',
    '::127.0.0.1',
    '64:ff9b::127.0.0.1',
    'fe80::1',
    'fe80::1%lo',
    '1.127.0.0',
  ]
  const broken = ['', 'localhost', '127.1', '127.0.0.1.evil', '127.0.0.1:80', '0x7f.0.0.1', '::ffff:127.0.0', '::ffff:']

  test('is loopback in every form of 127.0.0.0/8 and ::1', () => {
    for (const peer of loopback) assert.ok(isLoopbackText(peer), peer)
  })
  test('is not loopback otherwise', () => {
    for (const peer of [...others, ...broken, null]) assert.equal(isLoopbackText(peer), false, String(peer))
  })
  test('elsewhere is not trusted, whatever its headers say', () => {
    for (const peer of [...others, null]) assert.equal(admitted({ peer, host: '127.0.0.1' }), false, String(peer))
  })
  test('that forwards for a client is not trusted', () => {
    assert.equal(admitted({ forwards: true, forwarded_for: '127.0.0.1' }), false)
  })
})

describe('the Host header', () => {
  const good = [
    'localhost',
    'LOCALHOST:7777',
    'app.localhost',
    'a.b.localhost:1',
    '127.0.0.1',
    '127.0.0.1:7777',
    '192.168.1.5:80',
    '[::1]',
    '[::1]:7777',
    '[FE80::1]:65535',
  ]
  const bad = [
    '',
    ' ',
    'evil.com',
    'localhost.evil.com',
    'evillocalhost',
    'localhost@evil.com',
    'localhost:80@evil.com',
    'localhost/evil.com',
    'localhost?x',
    'localhost#x',
    'localhost:7777:7777',
    'localhost:port',
    '127.0.0.1.nip.io',
    '127.1',
    '2130706433',
    '0x7f000001',
    '[127.0.0.1]',
    '[fe80::1%eth0]',
    'localhost.',
    '.localhost',
    'a..localhost',
    '*.localhost',
    '::1',
    '[::1',
    '::1]',
    '[localhost]',
    'localhost evil.com',
    'localhost,evil.com',
    'ⓛocalhost',
  ]

  test('may name this machine or an address', () => {
    for (const host of good) assert.ok(isHostAllowed(host, []), host)
  })
  test('may not name another host', () => {
    for (const host of [...bad, null]) assert.equal(isHostAllowed(host, []), false, String(host))
    for (const host of [...bad, null]) assert.equal(admitted({ host }), false, String(host))
  })
  test('may name a host that the settings allow, in any case and with any port', () => {
    const allowed = ['box.example']
    for (const host of ['box.example', 'BOX.EXAMPLE:7777']) assert.ok(isHostAllowed(host, allowed), host)
    for (const host of ['a.box.example', 'box.example.evil.com', 'xbox.example']) {
      assert.equal(isHostAllowed(host, allowed), false, host)
    }
  })
})

describe('the Origin header', () => {
  const good = [
    'http://localhost',
    'http://localhost:3000',
    'https://localhost:7777',
    'http://app.localhost:5173',
    'http://127.0.0.1:8080',
    'http://127.9.9.9',
    'http://[::1]:3000',
    'http://[::ffff:7f00:1]:3000',
    'file://',
    'chrome-extension://abcdefghijklmnop',
    'moz-extension://0f4a1b',
    'safari-web-extension://x',
  ]
  const bad = [
    '',
    'null ',
    'http://evil.com',
    'https://localhost.evil.com',
    'http://evillocalhost',
    'http://localhost@evil.com',
    'http://localhost:3000@evil.com',
    'http://localhost/path',
    'http://localhost?x',
    'http://localhost, http://evil.com',
    'ftp://localhost',
    'ws://localhost',
    'data:text/html,x',
    'javascript:0',
    'file:///etc/passwd',
    'localhost',
    '//localhost',
    'http://10.0.0.1',
    'http://0.0.0.0:7777',
    'about:blank',
    'chrome-extension://',
    'chrome-extension://abc/page.html',
    'chrome-extension://abc, http://evil.com',
    'CHROME-extension://abc',
    'edge-extension://abc',
    'file://, http://evil.com',
    'file://evil.com',
    'null, null',
  ]

  test('may be absent', () => assert.ok(admitted({ origin: null })))
  test('may be this machine, a file or a browser extension', () => {
    for (const origin of good) assert.ok(admitted({ origin }), origin)
  })
  test('may not be another one', () => {
    for (const origin of bad) assert.equal(admitted({ origin }), false, origin)
  })
  test("may be the server's own", () => {
    assert.ok(admitted({ origin: 'http://192.168.1.5:7777', host: '192.168.1.5:7777' }))
    assert.equal(admitted({ origin: 'http://192.168.1.5:8888', host: '192.168.1.5:7777' }), false)
    assert.equal(admitted({ origin: 'http://evil.com:7777', host: 'evil.com:7777' }), false)
  })
  test("may be that of the server's public address", () => {
    const settings = { public_url: 'https://svc.example:8443/under/here' }
    assert.ok(admitted({ origin: 'https://svc.example:8443' }, settings))
    for (const origin of ['https://svc.example', 'http://svc.example:8443', 'https://svc.example:8443/under/here']) {
      assert.equal(admitted({ origin }, settings), false, origin)
    }
  })
  test('may be one that the settings allow, exactly', () => {
    const settings = { allowed_origins: ['https://app.example'] }
    assert.ok(admitted({ origin: 'https://app.example' }, settings))
    for (const origin of ['https://app.example:8443', 'http://app.example', 'https://app.example.evil.com']) {
      assert.equal(admitted({ origin }, settings), false, origin)
    }
  })
})

describe('Origin null', () => {
  const settings = { local_client_token: 'a-secret-of-this-launch' }

  test('is refused without the secret of this launch', () => {
    assert.equal(admitted({ origin: 'null' }), false)
    assert.equal(admitted({ origin: 'null' }, settings), false)
    assert.equal(admitted({ origin: 'null', local_client: '' }), false)
  })
  test('is accepted with it', () => {
    assert.ok(admitted({ origin: 'null', local_client: 'a-secret-of-this-launch' }, settings))
  })
  test('is refused with another', () => {
    for (const local_client of ['', 'a', 'a-secret-of-this-launcH', 'a-secret-of-this-launch ', 'ä-secret']) {
      assert.equal(admitted({ origin: 'null', local_client }, settings), false, local_client)
    }
  })
  test('with it does not allow other origins, peers or hosts', () => {
    const local_client = 'a-secret-of-this-launch'
    assert.equal(admitted({ origin: 'http://evil.com', local_client }, settings), false)
    assert.equal(admitted({ origin: 'null', local_client, peer: '10.0.0.1' }, settings), false)
    assert.equal(admitted({ origin: 'null', local_client, host: 'evil.com' }, settings), false)
  })
})
