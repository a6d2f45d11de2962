// The syntax check agrees with the engine: it refuses no code that the engine would accept.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { SandboxScript } from '../../src/engine/node-api/services/sandbox.ts'
import { createCodeSandbox } from '../../src/sandbox/code-sandbox.ts'
import { findSyntaxError } from '../../src/sandbox/script-syntax.ts'
import { script } from './kit.ts'

const sandbox = createCodeSandbox({ workers: 1 })
after(() => sandbox[Symbol.asyncDispose]())

const GOOD = [
  '',
  'return',
  'return {a: 1}',
  'yield {a: 1}\nreturn {b: await 1}',
  '// a comment at the end',
  '/* one */ return {}',
  'const {a, ...rest} = {a: 1}; return rest',
  'class A { #x = 1; static { this.y = 2 } get x() { return this.#x } }\nreturn {x: new A().x}',
  'label: for (;;) { break label }',
  'return {a: 1_000n === 1000n, b: 0b11, c: 0o7, d: .5e1}',
  `return {a: \`x\${1}y\`, b: String.raw\`n\`}`,
  'return {a: /[\\p{L}--[a-z]]/v.test("a")}',
  'return {a: /(?<year>\\d{4})/u.exec("2026").groups.year}',
  'return {a: null ?? 1, b: {}?.x, c: [1].at(-1)}',
  'let a; a ??= 1; a ||= 2; a &&= 3; return {a}',
  'try { throw 1 } catch { } finally { }',
  'for await (const x of [1]) yield {x}',
  'const f = async () => { await null }; await f()',
  'function* g() { yield* [1] }\nreturn {a: [...g()]}',
  'return {"__proto__": 1, async: 2, get: 3, static: 4}',
  'var undefined_ = 1, of = 2, let_ = 3; return {of}',
  'if (true) { function f() {} }',
  'const a = { async *b() {}, get c() { return 1 }, [`d`]: 1 }; return {}',
  'return {\u00e4\u00f6: 1, \\u0061: 2}',
  'return {a: new.target === undefined}',
  'return {a: typeof import.meta}',
]
/** Code that the language does not allow there and the engine accepts, since it overlooks strict mode. */
const TAKEN = [
  'await 1; return {a:010}',
  '{ var a = 010; return {a} }',
  '{ with ({a: 1}) return {a} }',
  '{ function f(){} function f(){} }',
  '!1; return {a: 010}',
  'class eval {}',
  'class A { #a = 1; static f(o) { delete o?.#a } }',
]
const BAD = [
  'return {',
  'const a = = 1',
  'let a; let a',
  'const a',
  'await = 1',
  'return 1 2',
  '})',
  '}); (function () {',
  '"unclosed',
  '`unclosed',
  '/(/',
  'import x from "x"',
  'export const a = 1',
  'break',
  'class A { constructor() {} constructor() {} }',
  'a => {}\n()',
  'for (const x of) {}',
  'yield = 1',
]

async function engines(code: string, more: Partial<SandboxScript> = {}): Promise<string | null> {
  try {
    await sandbox.call(script(code, more))
    return null
  } catch (error) {
    assert.ok(error instanceof NodeError)
    return error.message.startsWith('SyntaxError') ? error.message : null
  }
}

describe('the syntax check', () => {
  for (const code of [...GOOD, ...TAKEN, ...BAD])
    test(JSON.stringify(code), async () => {
      const [before, engine] = [findSyntaxError(code), await engines(code)]
      // Code that the engine rejects may pass here: the engine reports it at run time.
      if (engine === null) assert.equal(before, null)
      if (engine !== null && BAD.includes(code)) assert.match(before ?? '', /^SyntaxError: /)
      assert.equal(await engines(code, { syntax_only: true }), engine)
    })

  test('alone is done by the engine as well, without running the code', async () => {
    const lines: string[] = []
    const log = (_severity: string, content: string) => lines.push(content)
    const code = 'console.log("it runs"); yield {a: 1}\nfor (;;) {}'
    for (const one of [code, `}); ${code.replace('yield', 'void')}; (async function* () {`])
      assert.deepEqual(await sandbox.call(script(one, { syntax_only: true, log })), {})
    assert.deepEqual(lines, [])
  })

  test('reports an error with its position', () => {
    assert.equal(findSyntaxError('const a = 1\nconst b = = 2'), "SyntaxError: Unexpected token '=' (line 2, column 11)")
    assert.match(findSyntaxError('const a = (1')!, / \(at the end, line 1\)$/)
    assert.match(findSyntaxError('// a\r\rconst b = = 2')!, / \(line 3, column 11\)$/)
    assert.match(findSyntaxError('// a\u2028\u2029const a = (1')!, / \(at the end, line 3\)$/)
  })

  test('leaves very long or deep code to the engine', () => {
    assert.equal(findSyntaxError(`${' '.repeat(70_000)}return {`), null)
    assert.equal(findSyntaxError('['.repeat(65_000)), null)
  })
})
