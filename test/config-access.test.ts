// Settings of access that depend on each other: the mode, settings without effect, and warnings.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { describeAccessMode } from '../src/config/access-mode.ts'
import { ConfigError, type Environment, readConfig } from '../src/config.ts'
import { rangesOf } from './access/kit.ts'

const PROVIDER = { IDP_URL: 'https://idp.example/', IDP_KEY: 'key of the provider' }

function read(environment: Environment, host = '127.0.0.1') {
  return readConfig(environment, { host, port: 7777 })
}

function problemsOf(environment: Environment): readonly string[] {
  try {
    read(environment)
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
  return []
}

describe('the access mode', () => {
  test('is that of an identity provider where both of its settings are there', () => {
    const { identity_provider, warnings } = read(PROVIDER)
    assert.deepEqual(identity_provider, { url: 'https://idp.example', key: 'key of the provider' })
    assert.deepEqual(warnings, [])
  })

  test('is Local mode where one of them is missing, with a warning that names both and tells neither', () => {
    for (const name of ['IDP_URL', 'IDP_KEY'] as const) {
      for (const other of [undefined, '', '  ']) {
        const missing = name === 'IDP_URL' ? 'IDP_KEY' : 'IDP_URL'
        const { identity_provider, trust_localhost, warnings } = read({ [name]: PROVIDER[name], [missing]: other })
        assert.equal(identity_provider, null)
        assert.equal(trust_localhost, true)
        assert.equal(warnings.length, 1)
        assert.match(warnings[0]!, new RegExp(`^${name} is set without ${missing}: .*Local mode`))
        assert.ok(!warnings[0]!.includes(PROVIDER[name]))
      }
    }
  })

  test('is not guessed if one of them is wrong', () => {
    assert.equal(problemsOf({ ...PROVIDER, IDP_URL: 'idp.example' }).length, 1)
    const [problem] = problemsOf({ ...PROVIDER, IDP_URL: 'https://user:password@idp.example' })
    assert.match(problem!, /^IDP_URL must be /)
    assert.ok(!problem!.includes('password'))
  })

  test('of an identity provider trusts loopback callers only where it is told to', () => {
    assert.equal(read(PROVIDER).trust_localhost, false)
    assert.equal(read({ ...PROVIDER, SVC_TRUST_LOCALHOST: 'true' }).trust_localhost, true)
    assert.equal(read({ SVC_TRUST_LOCALHOST: 'false' }).trust_localhost, false)
  })

  test('of an identity provider trusts no networks, and warns of the setting', () => {
    const given = { SVC_TRUST_LOCAL_NETWORKS: '172.16.0.0/12' }
    const { trust_local_networks, warnings } = read({ ...PROVIDER, ...given })
    assert.deepEqual(trust_local_networks, [])
    assert.deepEqual(warnings, ['SVC_TRUST_LOCAL_NETWORKS has no effect with an identity provider'])
    assert.equal(problemsOf({ ...PROVIDER, SVC_TRUST_LOCAL_NETWORKS: '172.16.0.0/99' }).length, 1)
    assert.deepEqual(read(given).trust_local_networks, rangesOf('172.16.0.0/12'))
  })

  test('of an identity provider has administrators, Local mode has none to name', () => {
    const given = { SVC_ADMIN_USERS: 'ada, grace' }
    const { admin_users, warnings } = read({ ...PROVIDER, ...given })
    assert.deepEqual([admin_users, warnings], [['ada', 'grace'], []])
    assert.deepEqual(read(given).warnings, ['SVC_ADMIN_USERS has no effect without an identity provider'])
  })
})

describe('secrets', () => {
  test('of bridges that are too short leave them off, with a warning that does not tell them', () => {
    const { integration_token, warnings } = read({ SVC_INTEGRATION_TOKEN: 'fifteen letters' })
    assert.equal(integration_token, null)
    assert.equal(warnings.length, 1)
    assert.match(warnings[0]!, /^SVC_INTEGRATION_TOKEN has fewer than 16 characters/)
    assert.ok(!warnings[0]!.includes('fifteen letters'))
  })

  test('of the launch that are too short, or that no header carries, are refused without being told', () => {
    for (const value of ['fifteen-letters', 'sixteen letters!', 'sechzehn-größer!', 'sixteen\u0000letters!!']) {
      const problems = problemsOf({ SVC_LOCAL_CLIENT_TOKEN: value })
      assert.deepEqual(problems, ['SVC_LOCAL_CLIENT_TOKEN must be 16 or more characters of visible ASCII'])
    }
  })
})

describe('a range of callers who are trusted', () => {
  const warned = (networks: string, host: string) => read({ SVC_TRUST_LOCAL_NETWORKS: networks }, host).warnings

  test('that holds most of an internet is warned of where others can reach the server', () => {
    for (const range of [
      '0.0.0.0/0',
      '::/0',
      '128.0.0.0/1',
      '8.0.0.0/7',
      '2000::/3',
      '2001:c00::/31',
      'f000::/4',
      '::ffff:0:0/96',
    ]) {
      for (const host of ['0.0.0.0', '::', '192.168.1.5', 'box.example', '127.example']) {
        const warnings = warned(range, host)
        assert.equal(warnings.length, 1, `${range} ${host}`)
        assert.ok(warnings[0]!.includes(range) && warnings[0]!.includes(host), warnings[0])
        assert.match(warnings[0]!, /EVERYBODY WHO REACHES THIS PORT IS THE ADMINISTRATOR/)
      }
      for (const host of ['127.0.0.1', '127.0.0.2', '::1', 'localhost']) assert.deepEqual(warned(range, host), [], host)
    }
  })

  test('that holds most of an internet is warned of where proxies bring others to a loopback address', () => {
    for (const range of ['0.0.0.0/0', '::/0']) {
      const { warnings } = read({ SVC_TRUST_LOCAL_NETWORKS: range, SVC_TRUSTED_PROXIES: '127.0.0.1' }, '127.0.0.1')
      assert.equal(warnings.length, 1, range)
      assert.ok(warnings[0]!.includes(`holds ${range} `), warnings[0])
      assert.match(warnings[0]!, /EVERYBODY WHO REACHES THOSE PROXIES IS THE ADMINISTRATOR/)
    }
  })

  test('that is smaller causes no warning', () => {
    for (const range of ['10.0.0.0/8', '172.16.0.0/12', 'fc00::/7', 'fd00::/8', '2001:db8::/32', '192.168.65.1'])
      assert.deepEqual(warned(range, '0.0.0.0'), [], range)
  })

  test('causes a warning for each such entry', () => {
    assert.equal(warned('0.0.0.0/0, 10.0.0.0/8, ::/0', '0.0.0.0').length, 2)
  })
})

test('a range of proxies that holds most of an internet is warned of', () => {
  for (const range of ['0.0.0.0/0', '::/1']) {
    const { warnings } = read({ SVC_TRUSTED_PROXIES: range })
    assert.equal(warnings.length, 1)
    assert.ok(warnings[0]!.startsWith(`SVC_TRUSTED_PROXIES holds ${range}: `), warnings[0])
  }
  assert.deepEqual(read({ SVC_TRUSTED_PROXIES: '10.0.0.0/8' }).warnings, [])
})

test('all problems and nothing else keep a server from starting', () => {
  const problems = problemsOf({
    IDP_URL: 'idp.example',
    SVC_TRUST_LOCALHOST: 'maybe',
    SVC_TRUSTED_PROXIES: 'proxy, 10.0.0.0/8, other',
    SVC_TRUST_LOCAL_NETWORKS: 'lan',
    SVC_ALLOWED_HOSTS: '*',
    SVC_ALLOWED_ORIGINS: 'null',
    SVC_LOCAL_CLIENT_TOKEN: 'short',
    SVC_INTEGRATION_TOKEN: 'short',
    SVC_RATE_LIMIT_MAX: 'many',
  })
  assert.equal(problems.length, 9)
})

describe('the line of a start', () => {
  const LINES: readonly [Environment, string][] = [
    [{}, 'Local mode: callers on this machine are the administrator, all others need a token'],
    [
      { SVC_TRUST_LOCAL_NETWORKS: '172.16.0.0/12, 192.0.2.7' },
      'Local mode: callers on this machine and in 172.16.0.0/12, 192.0.2.7/32 are the administrator, all others need a token',
    ],
    [
      { SVC_TRUST_LOCALHOST: 'false', SVC_TRUST_LOCAL_NETWORKS: 'fd00::/64' },
      'Local mode: callers in fd00::/64 are the administrator, all others need a token',
    ],
    [{ SVC_TRUST_LOCALHOST: 'false' }, 'Local mode: every caller needs a token, on this machine as well'],
    [PROVIDER, 'Identity provider https://idp.example, issuer https://idp.example/auth/v1'],
    [
      { ...PROVIDER, SVC_TRUST_LOCALHOST: 'true' },
      'Identity provider https://idp.example, issuer https://idp.example/auth/v1; without a token, callers on this machine are the administrator',
    ],
  ]
  for (const [environment, line] of LINES)
    test(line.slice(0, 80), () => {
      assert.equal(describeAccessMode(read(environment)), line)
    })
})

describe('settings that do not fit together', () => {
  test('an address of the provider with the path that is added: warned of, and the key is not told', () => {
    for (const end of ['/auth/v1', '/auth/v1/']) {
      const { warnings } = read({ ...PROVIDER, IDP_URL: `https://idp.example${end}` })
      assert.equal(warnings.length, 1)
      assert.match(warnings[0]!, /^IDP_URL must not end with \/auth\/v1/)
      assert.ok(!warnings[0]!.includes(PROVIDER.IDP_KEY))
    }
  })

  test('a public address that only a proxy can serve, where none is named: warned of', () => {
    const names = (SVC_PUBLIC_URL: string, host = '127.0.0.1', SVC_TRUSTED_PROXIES = '') =>
      read({ SVC_PUBLIC_URL, SVC_TRUSTED_PROXIES }, host).warnings.filter((text) => text.startsWith('SVC_PUBLIC_URL'))
    for (const host of ['127.0.0.1', '127.0.0.2', '::1', 'localhost'])
      for (const url of ['https://svc.example.com', 'http://192.0.2.1:7777', 'http://[2001:db8::1]/below']) {
        const [warning, ...more] = names(url, host)
        assert.match(warning!, /SVC_TRUSTED_PROXIES is empty/, `${url} on ${host}`)
        assert.deepEqual(more, [])
        assert.deepEqual(names(url, host, '127.0.0.1'), [])
      }
    for (const url of ['http://localhost:7777', 'http://svc.localhost', 'http://127.0.0.1:7777', 'http://[::1]:7777'])
      assert.deepEqual(names(url), [], url)
    for (const host of ['0.0.0.0', '::', '192.0.2.1']) assert.deepEqual(names('https://svc.example.com', host), [])
  })
})
