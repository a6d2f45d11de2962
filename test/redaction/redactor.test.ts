// Redaction: no known secret survives in any form or place, credentials are found by their form, and all else stays
// unchanged.
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { findEnvironmentSecrets } from '../../src/redaction/environment-secrets.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { processorMs } from '../helpers/processor.ts'
import { scaled } from '../helpers/scale.ts'

const SECRET = 'pa/ss "wörd"\n+&'
const redactor = new Redactor([SECRET, 'plain-secret', '1234567890'])

const alphabet = [...'abcXYZ0189-_/+=.:!$&%"\\\'\n\t äßπ日😀']
const secretText = fc.string({ unit: fc.constantFrom(...alphabet), minLength: 8, maxLength: 60 })

/** Every string in a value, including keys. */
function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => [key, ...strings(member)])
}

const inJson = (text: string) => JSON.stringify(text).slice(1, -1)
const base64 = (text: string) => Buffer.from(text).toString('base64')

/** The encodings of secrets: the form that must not remain, and the text around it. */
const WRITINGS: Readonly<Record<string, [form: (secret: string) => string, around: (form: string) => string]>> = {
  'as it is': [(secret) => secret, (form) => form],
  'as JSON': [inJson, (form) => `{"a":"${form}"}`],
  'as JSON in JSON': [(secret) => inJson(inJson(secret)), (form) => `"{\\"a\\":\\"${form}\\"}"`],
  'in a URL': [encodeURIComponent, (form) => `https://a.example/?q=${form}&b`],
  'in a URL in a URL': [
    (secret) => encodeURIComponent(encodeURIComponent(secret)),
    (form) => `/login?next=%2Fx%3Fq%3D${form}%26b`,
  ],
  'in a form': [(secret) => new URLSearchParams({ a: secret }).toString().slice(2), (form) => `a=${form}&b=1`],
  'as base64': [base64, (form) => `data:text/plain;base64,${form}`],
  'as base64url': [(secret) => Buffer.from(secret).toString('base64url'), (form) => `"${form}"`],
  'after a name in base64': [(secret) => base64(`me:${secret}`), (form) => form],
  'among other bytes in base64': [(secret) => base64(`m${secret}xx`), (form) => form],
}

/** The shortest time of several rounds, after a first round that builds the index. */
function least(work: () => void): number {
  work()
  return Math.min(...Array.from({ length: 8 }, () => processorMs(work)))
}

describe('a known secret', () => {
  for (const [how, [form, around]] of Object.entries(WRITINGS)) {
    test(`is replaced ${how}`, () => {
      const text = `before ${around(form(SECRET))} after`
      const redacted = redactor.text(text)
      assert.ok(!redacted.includes(form(SECRET)))
      assert.match(redacted, /^before .*\[redacted\].* after$/)
      assert.ok(redactor.mayNeedRedaction(text) && redactor.mayNeedRedaction(JSON.stringify(text)))
    })
  }

  test('never survives in any JSON value, at any place and in any form', () => {
    const planted = fc.record({
      secret: secretText,
      writing: fc.constantFrom(...Object.values(WRITINGS)),
      beside: fc.tuple(fc.string(), fc.string()),
      value: fc.jsonValue({ maxDepth: 4 }),
      asKey: fc.boolean(),
    })
    fc.assert(
      fc.property(planted, ({ secret, writing: [form, around], beside: [before, after], value, asKey }) => {
        const known = new Redactor(['another-one', secret])
        const text = before + around(form(secret)) + after
        const whole = { value, list: [[value, asKey ? { [text]: value } : { deep: [text] }]] }
        const kept = JSON.stringify(whole)
        const redacted = known.value(whole)
        for (const one of strings(redacted)) assert.ok(!one.includes(form(secret)), one)
        assert.equal(JSON.stringify(whole), kept, 'the value itself is not touched')
        assert.ok(known.mayNeedRedaction(kept))
        assert.deepEqual(JSON.parse(known.payload(kept)), JSON.parse(JSON.stringify(redacted)))
        assert.equal(known.value(redacted), redacted, 'once is enough')
      }),
      { numRuns: scaled(300) },
    )
  })

  test('is replaced in JSON that escapes characters, also in nested JSON', () => {
    for (const [secret, form] of [
      ['Zauber ŐŁ\u007f\u001f key', 'Zauber \\u0150\\u0141\\u007F\\u001F key'],
      ['Zauber őłé 👋 key', 'Zauber \\u0151\\u0142\\u00E9 \\uD83D\\uDC4B key'],
      ['a+b/c=="<&>\\\'`', 'a\\u002Bb/c==\\u0022\\u003C\\u0026\\u003E\\\\\\u0027\\u0060'],
      [`${'x'.repeat(200)}+é`, `${'x'.repeat(200)}\\u002B\\u00E9`],
    ] as const) {
      assert.equal(JSON.parse(`"${form}"`), secret)
      const known = new Redactor([secret])
      for (const text of [form, inJson(form), inJson(inJson(form))])
        assert.equal(known.text(`{"a":"${text}"}`), '{"a":"[redacted]"}')
    }
  })

  test('is replaced in host names, in lower case and in ASCII', () => {
    const mixed = new Redactor(['Mixed-Case_KEY', 'Schlüssel-Wort'])
    for (const [secret, host] of [
      ['Mixed-Case_KEY', 'a.mixed-case_key.example'],
      ['Schlüssel-Wort', 'schlüssel-wort.example'],
      ['Schlüssel-Wort', URL.parse('http://Schlüssel-Wort.example')!.hostname],
    ] as const) {
      assert.ok(!mixed.text(secret).includes(secret))
      assert.match(mixed.text(`"${host}" did not answer`), /^"(a\.)?\[redacted\]\.example" did not answer$/)
    }
  })

  test('keeps base64 characters that also encode neighbouring bytes', () => {
    const seen = (around: (secret: string) => string) => redactor.text(base64(around('plain-secret')))
    assert.equal(
      seen((secret) => secret),
      '[redacted]',
    )
    assert.equal(
      seen((secret) => `me:${secret}`),
      'bWU6[redacted]',
    )
    assert.equal(
      seen((secret) => `m${secret}`),
      'bX[redacted]A==',
    )
    assert.equal(
      seen((secret) => `me${secret}xx`),
      'bWV[redacted]R4eA==',
    )
  })

  test('of less than 8 characters stays', () => {
    const short = new Redactor(['seven77', ''])
    assert.equal(short.text('seven77 seven77'), 'seven77 seven77')
    short.add('eight888')
    assert.equal(short.text('seven77 eight888'), 'seven77 [redacted]')
  })

  test('within, beside or across another leaves nothing of either', () => {
    const known = new Redactor(['abcdefgh', 'abcdefghijklmnop', 'mnopqrstuv', 'xxxxxxxx'])
    assert.equal(known.text('1abcdefgh2'), '1[redacted]2')
    assert.equal(known.text('1abcdefghijklmnop2'), '1[redacted]2')
    assert.equal(known.text('1abcdefghijklmnopqrstuv2'), '1[redacted]2')
    assert.equal(known.text('1abcdefghxxxxxxxxx2'), '1[redacted]2')
    assert.equal(known.text('abcdefg xxxxxxx mnopqrstu'), 'abcdefg xxxxxxx mnopqrstu')
  })

  test('is found like by a search for each secret at each position', () => {
    const words = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 8, maxLength: 11 }), {
      maxLength: 5,
    })
    const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 80 })
    fc.assert(
      fc.property(words, text, (secrets, whole) => {
        const hidden = Array.from(whole, () => false)
        for (const secret of secrets)
          for (let at = whole.indexOf(secret); at >= 0; at = whole.indexOf(secret, at + 1))
            hidden.fill(true, at, at + secret.length)
        const expected = Array.from(whole, (char, i) => (hidden[i] ? (hidden[i - 1] ? '' : '[redacted]') : char)).join(
          '',
        )
        assert.equal(new Redactor(secrets).text(whole), expected)
      }),
      { numRuns: scaled(300) },
    )
  })

  test('is found like by a search for each, while many with the same prefix are added twice and removed', () => {
    const beginning = 'sk-proj-'.repeat(16)
    const one = fc.record({
      shared: fc.constantFrom(0, 8, 31, 32, 33, 95, 96, 97, 128),
      rest: fc.string({ unit: fc.constantFrom('a', 'b', '-'), minLength: 8, maxLength: 10 }),
    })
    const secrets = fc.array(
      one.map(({ shared, rest }) => beginning.slice(0, shared) + rest),
      { minLength: 1, maxLength: 8 },
    )
    fc.assert(
      fc.property(secrets, secrets, fc.nat(100), (stay, go, at) => {
        const known = new Redactor(stay)
        for (const secret of [...go, ...stay]) known.add(secret)
        const text = `${beginning.slice(0, at)} ${[...go, ...stay].join(' ')} ${beginning}`
        const hidden = known.text(text)
        for (const secret of [...go, ...stay]) assert.ok(!hidden.includes(secret), secret)
        for (const secret of [...go, ...stay]) known.remove(secret)
        assert.equal(known.text(text), new Redactor(stay).text(text))
        for (const secret of stay) known.remove(secret)
        assert.equal(known.text(text), text)
        assert.equal(known.mayNeedRedaction(text), false)
      }),
      { numRuns: scaled(200) },
    )
  })

  test('is cheap to add and to find among thousands', () => {
    const many = Array.from({ length: 10_000 }, (_, i) => `sk-proj-${hash('sha256', String(i), 'base64url')}`)
    const known = new Redactor(many)
    const clean = 'Nothing of sk-proj- that is any secret of ours stands in this text. '.repeat(5)
    const rounds = Array.from({ length: 5 }, (_, round) => ({
      added: processorMs(() => {
        for (let i = 0; i < 100; i++) known.add(`another-secret-${round}-${i}`)
      }),
      clean: processorMs(() => {
        for (let i = 0; i < 1_000; i++) assert.equal(known.text(clean), clean)
      }),
    }))
    const least = (what: 'added' | 'clean') => Math.min(...rounds.map((round) => round[what]))
    assert.ok(least('added') < 100, `${least('added')} ms for 100 more`)
    assert.ok(least('clean') < 100, `${least('clean')} ms for 1,000 texts`)
    for (const at of [0, 4_321, 9_999]) assert.equal(known.text(`(${many[at]})`), '([redacted])')
  })

  for (const [how, beginning] of Object.entries({
    'one letter': 'p'.repeat(96),
    'what is escaped': '\\"/é'.repeat(24),
    'what is escaped later': `${'p'.repeat(96)} "\\/é\t`,
    words: Array.from({ length: 12 }, (_, i) => `word-${i}-`).join(''),
  })) {
    test(`is found among a thousand with the same first 96 characters or more: ${how}`, () => {
      const known = new Redactor()
      const secrets = Array.from({ length: 1_000 }, (_, i) => `${beginning}${i}-${'x'.repeat(i)}`)
      for (const secret of secrets) known.add(secret, 'one')
      const once = `hello ${beginning} there`
      const often = once.repeat(1_000)
      for (const view of [known, known.forOwner('one')]) {
        assert.ok(least(() => assert.equal(view.text(once), once)) < 5)
        const time = least(() => assert.equal(view.text(often), often))
        assert.ok(time < 60, `${time} ms for a thousand times`)
        for (const at of [0, 500, 999]) {
          assert.equal(view.text(`a ${secrets[at]} b`), 'a [redacted] b')
          assert.ok(!view.text(JSON.stringify({ a: secrets[at] })).includes(inJson(secrets[at]!)))
        }
      }
      assert.equal(known.forOwner('two').text(secrets[9]!), secrets[9])
    })
  }

  test('is found like by a search for each, while hundreds of nested ones are added and removed', () => {
    const word = fc.tuple(fc.integer({ min: 8, max: 130 }), fc.constantFrom('', 'b', 'bb', 'ab'))
    const words = fc.array(
      word.map(([length, end]) => 'a'.repeat(length) + end),
      { minLength: 30, maxLength: 120 },
    )
    const part = fc.tuple(fc.nat(140), fc.constantFrom('b', 'bb', ' ', 'c'))
    const text = fc.array(part, { maxLength: 6 }).map((parts) => parts.map(([n, end]) => 'a'.repeat(n) + end).join(''))
    const expected = (secrets: readonly string[], whole: string) => {
      const hidden = Array.from(whole, () => false)
      for (const secret of secrets)
        for (let at = whole.indexOf(secret); at >= 0; at = whole.indexOf(secret, at + 1))
          hidden.fill(true, at, at + secret.length)
      return Array.from(whole, (char, i) => (hidden[i] ? (hidden[i - 1] ? '' : '[redacted]') : char)).join('')
    }
    fc.assert(
      fc.property(words, words, text, fc.nat(29), (stay, go, whole, some) => {
        const known = new Redactor([...go, ...stay])
        assert.equal(known.text(whole), expected([...go, ...stay], whole))
        for (const secret of go.slice(0, some)) known.remove(secret)
        assert.equal(known.text(whole), expected([...go.slice(some), ...stay], whole))
        for (const secret of go.slice(some)) known.remove(secret)
        assert.equal(known.text(whole), expected(stay, whole))
      }),
      { numRuns: scaled(150) },
    )
  })

  test('of the maximum length is cheap to add, and cheap to compare with its prefix', () => {
    const known = new Redactor()
    let count = 0
    const secret = () => `${count++}${'"\\/é ü\n1234'.repeat(5_400)}`
    assert.ok(least(() => known.add(secret())) < 10)
    const one = secret()
    known.add(one)
    assert.ok(least(() => assert.ok(known.text(one.slice(0, -1)).length > 10)) < 20)
    assert.equal(known.text(`a${one}b`), 'a[redacted]b')
    const time = least(() => {
      const many = new Redactor()
      for (let i = 0; i < 450; i++) many.add(`${i}${'a/"é'.repeat(13_750)}`, `owner-${i % 30}`)
    })
    assert.ok(time < 300, `${time} ms for 15 values of each of 30 owners`)
  })

  test('is replaced without its surrounding white space, and with other line ends', () => {
    const key = (end: string) => ['first-line', 'the "second" line', '', 'z'].join(end)
    for (const set of ['\n', '\r\n']) {
      const known = new Redactor([` \t${key(set)}${set}${set}`, '\tword-in-white\r\n'])
      for (const shown of ['\n', '\r\n']) {
        assert.equal(known.text(`(${key(shown)})`), '([redacted])')
        assert.equal(known.text(`(${inJson(key(shown))})`), '([redacted])')
        assert.equal(known.text(`(${encodeURIComponent(key(shown))})`), '([redacted])')
        assert.ok(!known.text(base64(key(shown))).includes(base64(key(shown)).slice(4, -4)))
      }
      assert.equal(known.text('a word-in-white b'), 'a [redacted] b')
      assert.equal(known.text('\tword-in-white\r\n'), '[redacted]')
    }
    assert.equal(new Redactor([' short ']).text('short'), 'short')
  })

  test('of many lines is found line by line, except lines that all such keys have', () => {
    const lines = ['MIIEvQIBADANBgkqhkiG9w0BAQ/+', 'EFAASCBKcwggSjAgEAAoIBAQ', 'short=='] as const
    const known = new Redactor([`-----BEGIN PRIVATE KEY-----\n${lines.join('\r\n')}\n-----END PRIVATE KEY-----\n`])
    assert.equal(known.text(`1: ${lines[0]}\n2: ${lines[1]} 3: ${lines[2]}`), '1: [redacted]\n2: [redacted] 3: short==')
    const around = '-----BEGIN PRIVATE KEY----- -----END PRIVATE KEY-----'
    assert.equal(known.text(around), around)
  })

  test('that is a URL is found by its password, or its name without one, and in the sent form', () => {
    const known = new Redactor([
      'https://bot:Some%2Blong-Pass_word@a.example/x',
      'https://tok_0123456789abcdef@a.example/y',
    ])
    const shown = '(bot:Some+long-Pass_word) (tok_0123456789abcdef)'
    assert.equal(known.text(shown), '(bot:[redacted]) ([redacted])')
    for (const pair of ['bot:Some+long-Pass_word', 'tok_0123456789abcdef:'])
      assert.equal(known.text(`(${base64(pair)})`), '([redacted])')
    const short = new Redactor(['https://anonymous:postgres@a.example', 'https://%ff:some-long-password@a.example'])
    assert.equal(short.text('anonymous postgres'), 'anonymous postgres', 'too much else looks like them')
  })

  test('in a URL is found in the sent form of the URL', () => {
    const known = new Redactor(["it's a/secret", 'HTTPS://Hooks.Example/services/T0/B0/xyz 1?key=of%20mine and more'])
    assert.equal(known.text("?a=it%27s%20a%2Fsecret&b=it's%20a%2fsecret"), '?a=[redacted]&b=[redacted]')
    assert.equal(known.text('GET /services/T0/B0/xyz%201?key=of%20mine%20and%20more HTTP'), 'GET [redacted] HTTP')
    assert.equal(
      known.text('(https://hooks.example/services/T0/B0/xyz%201?key=of%20mine%20and%20more)'),
      '([redacted])',
    )
    assert.equal(new Redactor(['https://a.example/api/v1']).text('/api/v1'), '/api/v1')
  })

  test('is found among others as long as a request', () => {
    const long = Array.from({ length: 4 }, (_, i) => `${i}-`.repeat(30_000))
    const known = new Redactor(long)
    assert.equal(known.text(`a ${long.join('')} b ${long[2]} c`), 'a [redacted] b [redacted] c')
    assert.equal(known.text(`a ${long[3]!.slice(0, -1)}`), `a ${long[3]!.slice(0, -1)}`)
  })

  test('is found in a number, which becomes a text', () => {
    assert.deepEqual(redactor.value({ a: 1234567890, b: [912345678901], c: 123456789, d: -0 }), {
      a: '[redacted]',
      b: ['[redacted]'],
      c: 123456789,
      d: -0,
    })
    assert.equal(redactor.payload('{"a":1234567890}'), '{"a":"[redacted]"}')
  })
})

describe('a value without secrets', () => {
  test('is returned as the same object, with all its parts', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        assert.equal(redactor.value(value), value)
        const json = JSON.stringify(value)
        assert.equal(redactor.payload(json), json)
      }),
      { numRuns: scaled(200) },
    )
  })

  test('keeps its identity beside changed values', () => {
    const same = { a: [1, 'x'] }
    const redacted = redactor.value({ same, list: [same, 'plain-secret'] })
    assert.equal(redacted.same, same)
    assert.equal(redacted.list[0], same)
    assert.deepEqual(redacted.list, [same, '[redacted]'])
  })

  test('may be bytes, which stay unchanged', () => {
    const bytes = Buffer.from('plain-secret')
    const redacted = redactor.value({ bytes, text: 'plain-secret' })
    assert.equal(redacted.bytes, bytes)
    assert.equal(redacted.text, '[redacted]')
  })

  test('keeps a member with the name __proto__', () => {
    const value = JSON.parse('{"__proto__": {"a": "plain-secret"}, "b": 1}') as object
    assert.equal(JSON.stringify(redactor.value(value)), '{"__proto__":{"a":"[redacted]"},"b":1}')
  })

  test('may be prose about credentials', () => {
    for (const text of [
      'Basic information about bearer authentication, and the basic understanding of it',
      'The bearer of good news; BASIC programming; a basic Username:',
      'magenta_background_color_value ntk_short quanta_of_solace_movie',
      'authorization is needed',
      'Authorization: required. authorization: none, Authorization: token needed',
      'authorization: Basic {credentials}',
      '{"authorization":true} {"a":{"authorization":null},"b":[{"authorization":false}]}',
      '{"authorization":{},"proxy-authorization":[]}',
      '{"a":"authorization:\\nabc","b":"authorization="}',
    ])
      assert.equal(redactor.text(text), text)
    assert.deepEqual(redactor.value({ password: 'x', cookie: 'a', token: 't' }), {
      password: 'x',
      cookie: 'a',
      token: 't',
    })
  })
})

describe('credentials', () => {
  const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const none = new Redactor()
  const cases: Record<string, [string, string]> = {
    'a bearer token': [`x Bearer ${JWT} y`, 'x Bearer [redacted] y'],
    'in lower case': ['bearer sk-a1b2c3d4', 'bearer [redacted]'],
    'user and password': ['Basic dXNlcjpwYXNz!', 'Basic [redacted]!'],
    'a header line': ['Authorization: secretly\r\nAccept: x', 'Authorization: [redacted]\r\nAccept: x'],
    'a scheme of its own': ['authorization: Token abc def', 'authorization: Token [redacted] def'],
    'a header in JSON': ['{"Authorization":"Bearer abc"}', '{"Authorization":"Bearer [redacted]"}'],
    'a header in JSON in JSON': ['{\\"authorization\\": \\"abc\\"}', '{\\"authorization\\": \\"[redacted]\\"}'],
    'a header after a line break in JSON': [
      '{"h":"A: b\\r\\nAuthorization: abc\\r\\n"}',
      '{"h":"A: b\\r\\nAuthorization: [redacted]\\r\\n"}',
    ],
    'a number in JSON': ['{"authorization":12345}', '{"authorization":"[redacted]"}'],
    'a number in JSON in JSON': ['{"a":"{\\"authorization\\":5}"}', '{"a":"{\\"authorization\\":\\"[redacted]\\"}"}'],
    'a value in brackets': ['{authorization: ab{c}d} [x]', '{authorization: [redacted]} [x]'],
    'a token after a line break in JSON': [`"a\\nntk_${'x'.repeat(16)}"`, '"a\\n[redacted]"'],
    'what looks like a token over a line break in JSON': [`"\\ntk_${'x'.repeat(16)}"`, '"\\n[redacted]"'],
    'an access token': [`(ntk_${'a1-_'.repeat(4)})`, '([redacted])'],
    'a token for tools': [`nta_${'x'.repeat(16)}.y.z`, '[redacted]'],
    'a delegated token': [`t=nda_${'0'.repeat(40)}`, 't=[redacted]'],
  }
  for (const [what, [text, redacted]] of Object.entries(cases)) {
    test(`${what} is replaced, with no secret known`, () => {
      assert.equal(none.text(text), redacted)
      assert.ok(none.mayNeedRedaction(text))
      assert.deepEqual(none.value([{ a: text }]), [{ a: redacted }])
      assert.deepEqual(JSON.parse(none.payload(JSON.stringify({ a: text }))), { a: redacted })
    })
  }
})

describe('redaction with names', () => {
  const none = new Redactor()
  const named = <T>(value: T) => none.value(value, { names: true })

  test('replaces values with names of credentials, in any spelling', () => {
    for (const name of [
      'authorization',
      'Proxy-Authorization',
      'COOKIE',
      'set-cookie',
      'X-Api-Key',
      'api_key',
      'apikey',
    ])
      assert.deepEqual(named({ [name]: 'a', of: 1 }), { [name]: '[redacted]', of: 1 }, name)
    for (const name of ['access_token', 'refreshToken', 'client_secret', 'Password', 'apiKey'])
      assert.deepEqual(named({ a: [{ [name]: ['a', { b: 1 }] }] }), { a: [{ [name]: '[redacted]' }] }, name)
  })

  test('keeps empty values, and values with other names', () => {
    const value = { password: null, token: '', cookie: false, max_tokens: 5, tokens: ['a'], password_length: 8 }
    assert.equal(named(value), value)
  })

  test('recognizes headers in lists and in records of name and value', () => {
    assert.deepEqual(none.headers(['Host', 'a', 'Cookie', 'b']), ['Host', 'a', 'Cookie', '[redacted]'])
    assert.deepEqual(named([['authorization', 'x']]), [['authorization', '[redacted]']])
    assert.deepEqual(named([{ name: 'Cookie', value: 'b' }]), [{ name: 'Cookie', value: '[redacted]' }])
    assert.equal(none.headers({ accept: 'x' }).accept, 'x')
  })

  test('searches names in texts too', () => {
    const cases: [string, string][] = [
      ['GET /ws?api_key=abc&x=1', 'GET /ws?api_key=[redacted]&x=1'],
      ['{"password": "abc", "a": 1}', '{"password": "[redacted]", "a": 1}'],
      ['Cookie: a=b; c=d\r\nHost: x', 'Cookie: [redacted]\r\nHost: x'],
      ['postgres://me:word@db/x', 'postgres://me:[redacted]@db/x'],
      ['Bearer abc', 'Bearer [redacted]'],
      ['client_secret=x access_token=y', 'client_secret=[redacted] access_token=[redacted]'],
      ['Authorization: Bearer abc', 'Authorization: Bearer [redacted]'],
    ]
    for (const [text, redacted] of cases) assert.equal(none.text(text, { names: true }), redacted)
  })
})

describe('a text that is JSON', () => {
  const said = ['authorization', 'Authorization: ', '"password":', 'cookie: ', 'Bearer ', 'Basic YTpi', 'ntk_', 'token']
  const values = ['abc12345', 'true', '{', '}', '[', ']', '\n', ',', '=', ' ', '1', '\\', '"', 'tk_0123456789abcdef']
  const text = fc.array(fc.constantFrom(...said, ...values), { maxLength: 5 }).map((parts) => parts.join(''))
  const name = fc.constantFrom('authorization', 'password', 'token', 'cookie', 'other')
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(null, true, false, 12_345_678, -1.5e-7),
      text,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }))

  test('stays JSON with the same structure', () => {
    const shape = (of: unknown): unknown => {
      if (Array.isArray(of)) return of.map(shape)
      if (typeof of !== 'object' || of === null) return null
      return Object.fromEntries(Object.entries(of).map(([key, part]) => [key, shape(part)]))
    }
    const none = new Redactor()
    fc.assert(
      fc.property(value, fc.boolean(), (of, names) => {
        const redacted: unknown = JSON.parse(none.text(JSON.stringify(of), { names }))
        assert.deepEqual(shape(redacted), shape(of))
        const twice = JSON.parse(none.text(JSON.stringify({ json: JSON.stringify(of) }), { names })) as { json: string }
        assert.deepEqual(shape(JSON.parse(twice.json)), shape(of))
      }),
      { numRuns: scaled(1_000) },
    )
  })
})

describe('an unusual value', () => {
  test('that contains itself is cut at the cycle', () => {
    const value: Record<string, unknown> = { a: 'plain-secret' }
    value.self = value
    value.list = [value, value]
    assert.deepEqual(redactor.value(value), {
      a: '[redacted]',
      self: '[redacted]',
      list: ['[redacted]', '[redacted]'],
    })
  })

  test('that doubles at each level is searched once', () => {
    let value: unknown = 'plain-secret'
    for (let level = 0; level < 60; level++) value = { a: value, b: value }
    let redacted = redactor.value(value) as Record<string, unknown>
    for (let level = 0; level < 59; level++) redacted = redacted.b as Record<string, unknown>
    assert.deepEqual(redacted, { a: '[redacted]', b: '[redacted]' })
  })

  test('of any depth is safe, and unsearched parts are not shown', () => {
    let value: unknown = 'plain-secret'
    for (let level = 0; level < 200_000; level++) value = [value]
    assert.ok(!JSON.stringify(redactor.value(value)).includes('plain-secret'))
  })

  test('takes linear time if it is a very long text of any kind', () => {
    const made = new Redactor(['aaaaaaaaaaaaaaaaaaaaaaaaaaaab', `${'a'.repeat(5_000)}b`, 'plain-secret'])
    for (const part of [
      'a',
      'authorization ',
      'bearer ',
      'Basic YTpi',
      'api_key ',
      '://x',
      'ntk_',
      'plain-secre',
      '\\',
      ': "',
    ]) {
      const time = (length: number, times: number) => {
        const text = part.repeat(Math.ceil(length / part.length))
        return least(() => {
          for (let i = 0; i < times; i++) {
            made.text(text, { names: true })
            made.mayNeedRedaction(text)
          }
        })
      }
      const [short, long] = [time(20_000, 16), time(320_000, 1)]
      assert.ok(long < 6 * Math.max(short, 8), `${part}: ${short} ms, and ${long} ms in one piece`)
    }
  })
})

describe('the secrets of the environment', () => {
  test('are those of the service and variables with similar names', () => {
    const environment = {
      SVC_SECRET_DB: ' secret of db ',
      SECRETS_MASTER_KEY: 'the master key',
      SECRETS_MASTER_KEY_NEW: 'the new master key',
      SVC_LOCAL_CLIENT_TOKEN: 'client token',
      IDP_KEY: 'provider key',
      SVC_INTEGRATION_TOKEN: 'integration token',
      OPENAI_API_KEY: 'openai key',
      ANTHROPIC_API_KEY: 'anthropic key',
      GEMINI_API_KEY: 'gemini key',
      SMTP_PASSWORD: 'smtp password',
      APP_SECRET: 'app secret',
      AWS_SECRET_ACCESS_KEY: 'access key',
      SHORT_TOKEN: 'seven77',
      EMPTY_TOKEN: '',
      UNSET_TOKEN: undefined,
      TWICE_TOKEN: 'client token',
      HOME: '/home/of/somebody',
      TOKENIZER: 'a tokenizer',
      SVC_DATA_DIR: '/srv/data/folder',
    }
    assert.deepEqual(findEnvironmentSecrets(environment), [
      ' secret of db ',
      'secret of db',
      'the master key',
      'the new master key',
      'client token',
      'provider key',
      'integration token',
      'openai key',
      'anthropic key',
      'gemini key',
      'smtp password',
      'app secret',
      'access key',
    ])
  })
})
