// The token of deployments: where it is looked for, how one is made and kept, and what is refused.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { readOrCreateToken } from '../../src/deploy/deployment-token-file.ts'
import { findServerToken, isSameToken, resolveServerToken } from '../../src/deploy/server-token.ts'
import { StartError } from '../../src/start-error.ts'
import { temporaryFolder } from '../helpers/server.ts'

const GIVEN = 'sixteen-letters-'
const MADE = /^[\w-]{43}$/

let folder = ''
let config_file = ''
beforeEach(() => {
  folder = temporaryFolder()
  config_file = join(folder, 'deployment.yaml')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const mode = (path: string) => statSync(path).mode & 0o777
const write = (text: string | Uint8Array) => writeFileSync(config_file, text, { mode: 0o600 })
const claim = (text: string, mode = 0o600) => {
  writeFileSync(`${config_file}.token`, text)
  chmodSync(`${config_file}.token`, mode)
}
const resolve = () => resolveServerToken({ environment: {}, config_file })

/** Holds that it is refused in one line that begins with where, and that nothing is left behind or changed. */
function refuses(message: RegExp, environment: Record<string, string> = {}): void {
  const before = readdirSync(folder)
  assert.throws(
    () => resolveServerToken({ environment, config_file }),
    (error) => {
      assert.ok(error instanceof StartError, String(error))
      assert.match(error.message, message)
      assert.ok(!error.message.includes('\n') && !error.message.includes('hidden'), error.message)
      return true
    },
  )
  assert.deepEqual(readdirSync(folder), before)
}

const ADMINISTRATOR = { skip: process.getuid?.() !== 0 && 'only an administrator may' }
const NOBODY = 65_534

/** Does it as another user, whose files it makes. */
function asNobody(act: () => void): void {
  process.seteuid!(NOBODY)
  try {
    act()
  } finally {
    process.seteuid!(0)
  }
}

describe('the token of a deployment', () => {
  test('is that of the environment before any other, and the file is not looked at', () => {
    write('[broken')
    const environment = { SERVER_AUTH_TOKEN: ` ${GIVEN}\n` }
    assert.deepEqual(resolveServerToken({ environment, config_file }), {
      token: GIVEN,
      source: 'environment',
      warning: null,
    })
  })

  test('is that of the file where the environment has none, or a blank one', () => {
    for (const text of [
      `server_auth_token: ${GIVEN}\n`,
      `a: &t ${GIVEN}\nserver_auth_token: *t`,
      `\ufeff{server_auth_token: '${GIVEN}'}`,
    ]) {
      write(text)
      for (const environment of [{}, { SERVER_AUTH_TOKEN: ' ' }])
        assert.deepEqual(resolveServerToken({ environment, config_file }), {
          token: GIVEN,
          source: 'file',
          warning: null,
        })
      assert.equal(readFileSync(config_file, 'utf8'), text)
    }
  })

  test('is made where there is none, kept for its owner alone, and the same from then on', () => {
    assert.equal(findServerToken({ environment: {}, config_file }), null)
    assert.deepEqual(readdirSync(folder), [])
    const made = resolve()
    assert.match(made.token, MADE)
    assert.equal(made.source, 'generated')
    assert.equal(mode(config_file), 0o600)
    assert.equal(readFileSync(config_file, 'utf8'), `server_auth_token: "${made.token}"\n`)
    assert.deepEqual(resolve(), { token: made.token, source: 'file', warning: null })
    assert.deepEqual(findServerToken({ environment: {}, config_file }), resolve())
    assert.deepEqual(readdirSync(folder), ['deployment.yaml'])
  })

  test('leaves the rest of the file as it is, comments and all, and makes its mode narrower', () => {
    const text = [
      '# Where it runs',
      'image: "svc:1.10" # pinned',
      '',
      'ports: [ 7777 ]',
      'id: 12345678901234567890',
      'ratio: 1.10',
      'mask: 0x1F',
      `note: ${'a long line '.repeat(20)}end`,
      'script: |',
      '  one',
      '    two',
      'base: &base',
      '  on: yes',
      'other: *base',
      'secret: !vault abc',
      'nothing: ~',
      '1: number',
      '"1": text',
      '',
      '# the end',
      '',
    ].join('\n')
    write(text)
    chmodSync(config_file, 0o644)
    const { token } = resolve()
    assert.equal(mode(config_file), 0o600)
    const line = `server_auth_token: "${token}"\n`
    const written = readFileSync(config_file, 'utf8')
    assert.ok(written.includes(line))
    assert.equal(written.replace(line, ''), text)
  })

  for (const [what, text] of [
    ['is empty', ''],
    ['has comments alone', '# to be filled in\n'],
    ['begins a document and says no more', '---\n'],
    ['says null', '# nothing\n~\n'],
    ['is an empty mapping', '{}\n'],
  ] as const) {
    test(`is put into a file that ${what}`, () => {
      write(text)
      const { token } = resolve()
      assert.equal(resolve().token, token)
      for (const comment of text.match(/#.*/g) ?? []) assert.ok(readFileSync(config_file, 'utf8').includes(comment))
    })
  }

  test('is put where a link leads, and the link stays', () => {
    const link = config_file
    config_file = join(folder, 'real.yaml')
    write('a: 1\n')
    symlinkSync('real.yaml', link)
    const { token } = resolveServerToken({ environment: {}, config_file: link })
    assert.match(readFileSync(config_file, 'utf8'), new RegExp(`^a: 1\nserver_auth_token: "${token}"\n$`))
    assert.deepEqual(readdirSync(folder).sort(), ['deployment.yaml', 'real.yaml'])
    assert.equal(resolveServerToken({ environment: {}, config_file: link }).token, token)
  })

  test('is the one that an interrupted call had decided upon', () => {
    claim(GIVEN)
    assert.equal(resolve().token, GIVEN)
    assert.deepEqual(readdirSync(folder), ['deployment.yaml'])
  })

  test('is the one of whoever was quicker', () => {
    let other = ''
    const ours = readOrCreateToken(config_file, () => {
      other = resolve().token
      return GIVEN
    })
    assert.deepEqual([ours.token, ours.made], [other, false])
    assert.equal(resolve().token, other)
    assert.deepEqual(readdirSync(folder), ['deployment.yaml'])
  })

  test('is the one that the owner of the file had decided upon', ADMINISTRATOR, () => {
    write('a: 1\n')
    claim(GIVEN)
    for (const path of [config_file, `${config_file}.token`]) chownSync(path, NOBODY, NOBODY)
    assert.equal(resolve().token, GIVEN)
    assert.deepEqual([readdirSync(folder), statSync(config_file).uid], [['deployment.yaml'], NOBODY])
  })

  test('stays with the owner of the file', ADMINISTRATOR, () => {
    write('a: 1\n')
    chownSync(config_file, 12_345, 12_345)
    resolve()
    const { uid, gid } = statSync(config_file)
    assert.deepEqual([uid, gid, mode(config_file)], [12_345, 12_345, 0o600])
  })

  test('is warned of where others may read it', { skip: process.platform === 'win32' }, () => {
    write(`server_auth_token: ${GIVEN}\n`)
    chmodSync(config_file, 0o640)
    assert.match(resolve().warning ?? '', /^other users may read it \(mode 640\); make it private with chmod 600$/)
    assert.equal(mode(config_file), 0o640)
  })
})

describe('what is no token of a deployment', () => {
  for (const [what, token] of [
    ['short', 'hidden-15-chars'],
    ['with a space', 'hidden token of 16'],
    ['with a letter that no header takes', 'hidden-tökén-of-16'],
    ['too long', 'hidden'.repeat(700)],
  ] as const) {
    test(`${what}: is refused from the environment and from the file`, () => {
      refuses(/^SERVER_AUTH_TOKEN must be 16 to 4096 visible ASCII/, { SERVER_AUTH_TOKEN: token })
      write(`server_auth_token: "${token}"\n`)
      refuses(/^server_auth_token in \S+deployment\.yaml must be 16 to 4096 visible ASCII/)
    })
  }

  for (const [what, text, message] of [
    ['an empty text', 'server_auth_token: ""', /must be 16 to 4096/],
    ['nothing', 'server_auth_token:', /is not a text; put it in quotes/],
    ['a number', 'server_auth_token: 1234567890123456', /is not a text/],
    ['a list', 'server_auth_token: [hidden]', /is not a text/],
    ['an alias of a mapping', 'a: &a {b: hidden}\nserver_auth_token: *a', /is not a text/],
    ['an alias of nothing', 'server_auth_token: *hidden', /is not (valid YAML|a text)/],
    ['a key twice', 'server_auth_token: hidden-1\nserver_auth_token: hidden-2', /is not valid YAML \(line 2\)/],
    ['no YAML', 'a: 1\nb: [hidden', /is not valid YAML \(line \d\)/],
    ['two documents', 'a: 1\n---\nb: hidden', /is not valid YAML/],
    ['a list of everything', '- hidden', /is not a YAML mapping/],
    ['a text alone', 'hidden', /is not a YAML mapping/],
  ] as const) {
    test(`${what} in the file: is refused, and the file stays`, () => {
      write(text)
      refuses(message)
      assert.equal(readFileSync(config_file, 'utf8'), text)
    })
  }

  test('a file that is no text, or too long, is refused', () => {
    write(Uint8Array.of(0x61, 0x3a, 0xff))
    refuses(/cannot be read \(it is not UTF-8\)/)
    write(`a: ${'x'.repeat(1 << 20)}`)
    refuses(/cannot be read \(it is longer than 1 MiB\)/)
  })

  test('a folder, a link that leads nowhere, and a folder that is not there are refused', () => {
    mkdirSync(config_file)
    refuses(/deployment\.yaml cannot be read \(it is not a file\)/)
    config_file = join(folder, 'link.yaml')
    symlinkSync('nowhere.yaml', config_file)
    refuses(/link\.yaml cannot be read \(ENOENT\); check where its link leads/)
    config_file = join(folder, 'missing', 'deployment.yaml')
    refuses(/cannot be written \(ENOENT\); check its folder/)
    writeFileSync(join(folder, 'plain'), '')
    config_file = join(folder, 'plain', 'deployment.yaml')
    refuses(/cannot be read \(ENOTDIR\)/)
  })

  test('a pipe is refused, and not waited for', { skip: process.platform === 'win32' }, () => {
    execFileSync('mkfifo', [config_file, `${config_file}.token`])
    refuses(/deployment\.yaml cannot be read \(it is not a file\)/)
    rmSync(config_file)
    refuses(/deployment\.yaml\.token is not to be trusted \(it is not a file\)/)
  })

  test('a file that could not be read again is not put in its place', () => {
    write('!!str {a: 1}')
    assert.throws(resolve, /deployment\.yaml is not a YAML mapping/)
    assert.equal(readFileSync(config_file, 'utf8'), '!!str {a: 1}')
  })
})

describe('a claim', () => {
  test('that is none is left to its owner', () => {
    claim('a note')
    refuses(/deployment\.yaml\.token holds no token; remove it if it is not yours/)
    assert.equal(readFileSync(`${config_file}.token`, 'utf8'), 'a note')
  })

  test('that others may use is refused', { skip: process.platform === 'win32' }, () => {
    for (const mode of [0o644, 0o620, 0o601]) {
      claim(GIVEN, mode)
      refuses(
        new RegExp(`yaml\\.token is not to be trusted \\(others may use it, mode ${mode.toString(8)}\\); try again`),
      )
    }
  })

  test('that is a link or a folder is refused', { skip: process.platform === 'win32' }, () => {
    writeFileSync(join(folder, 'other'), GIVEN, { mode: 0o600 })
    for (const leads of ['other', 'nowhere']) {
      symlinkSync(leads, `${config_file}.token`)
      refuses(/yaml\.token is not to be trusted \(it is a link\); try again, or remove it/)
      rmSync(`${config_file}.token`)
    }
    mkdirSync(`${config_file}.token`)
    refuses(/yaml\.token is not to be trusted \(it is not a file\)/)
  })

  test('of another user is refused, whoever of the two is the administrator', ADMINISTRATOR, () => {
    chmodSync(folder, 0o1777)
    claim(GIVEN)
    asNobody(() => refuses(/yaml\.token is not to be trusted \(it belongs to another user\); try again, or remove it/))
    rmSync(`${config_file}.token`)
    write('a: 1\n')
    asNobody(() => claim(GIVEN))
    refuses(/yaml\.token is not to be trusted \(it belongs to another user\)/)
    assert.equal(readFileSync(config_file, 'utf8'), 'a: 1\n')
  })
})

describe('comparing tokens', () => {
  test('tells the same from every other, of any length', () => {
    for (const token of ['', 'a', GIVEN, 'ü'.repeat(100)]) {
      assert.ok(isSameToken(token, `${token}`))
      for (const other of [`${token}a`, `A${token}`, token.slice(1)])
        assert.equal(isSameToken(token, other), token === other)
    }
  })
})
