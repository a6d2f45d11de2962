// prompt.Template: values, sections and messages; and invalid templates.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parsePromptTemplate, renderPromptTemplate } from '../../src/nodes/prompt-template.ts'
import { scaled } from '../helpers/scale.ts'
import { problems } from './chat-kit.ts'
import { fire } from './fire.ts'
import { soon } from './soon.ts'

const prompt = async (template: string, inputs: Record<string, unknown> = {}) =>
  (await fire('prompt.Template', { template }, inputs)).prompt

describe('prompt.Template', () => {
  test('makes messages from a system text, the given messages, and a prompt', async () => {
    const messages = [
      { role: 'user', content: '2 + 2' },
      { role: 'assistant', content: '4' },
    ]
    const data = { system: 'You speak {{language}}.', template: '{{question}}?', messages }
    assert.deepEqual(await fire('prompt.Template', data, { language: 'Latin', question: 'Why' }), {
      messages: [{ role: 'system', content: 'You speak Latin.' }, ...messages, { role: 'user', content: 'Why?' }],
      prompt: 'Why?',
      system: 'You speak Latin.',
    })
    assert.deepEqual((await fire('prompt.Template', { template: 'x' })).messages, [{ role: 'user', content: 'x' }])
  })

  test('fills placeholders like text.Template, and writes nothing for missing values', async () => {
    const inputs = { a: { b: ['x', 'y'] }, n: 7, 'c.d': 'z', l: [1, 2] }
    assert.equal(await prompt('{{ a.b[1] }} {{n}} {{c.d}} {{l}}', inputs), 'y 7 z [1,2]')
    assert.equal(await prompt('<{{a.none}}><{{x}}>', { ...inputs, x: null }), '<><>')
  })

  test('renders a section if its input has a value', async () => {
    const template = '{{#name}}Hello {{name}}{{/name}}{{^name}}Hello{{/name}}!'
    assert.equal(await prompt(template, { name: 'Ada' }), 'Hello Ada!')
    for (const nothing of [null, '', false, []]) assert.equal(await prompt(template, { name: nothing }), 'Hello!')
    assert.equal(await prompt('{{#n}}yes{{/n}}', { n: 0 }), 'yes')
    assert.equal(await prompt('{{#a.b}}{{.}}{{/a.b}}', { a: { b: 'deep' } }), 'deep')
  })

  test('renders a section once for each item', async () => {
    const rows = [
      { name: 'a', tags: ['x', 'y'] },
      { name: 'b', tags: [] },
    ]
    const template = '{{#rows}}- {{.name}}{{#.tags}} {{.}}/{{all}}{{/.tags}}{{^.tags}} none{{/.tags}}\n{{/rows}}'
    assert.equal(await prompt(template, { rows, all: 'z' }), '- a x/z y/z\n- b none\n')
    assert.equal(await prompt('{{#l}}{{.}},{{/l}}', { l: [1, null, 'c'] }), '1,,c,')
  })

  test('is refused before it runs if its tags do not match', () => {
    const why = (template: string) => problems('prompt.Template', { template })[0]
    assert.match(why('{{#a}}x')!, /^invalid_expression template: .*The section "a" of the template is not closed\.$/)
    assert.match(why('x{{/a}}')!, /The template closes the section "a", which was not opened\.$/)
    assert.match(why('{{#a}}{{^b}}{{/a}}{{/b}}')!, /closes the section "a", where "b" is open\.$/)
    assert.match(why(`${'{{#a}}'.repeat(17)}${'{{/a}}'.repeat(17)}`)!, /more than 16 levels deep/)
    assert.match(
      why('')!,
      /^missing_property template: .*There is nothing to render\. Set system, template or messages\.$/,
    )
    assert.match(problems('prompt.Template', { template: 'x', system: '{{/b}}' })[0]!, /^invalid_expression system/)
  })

  test('refuses names that are not inputs', async () => {
    await assert.rejects(prompt('{{nmae}}', { name: 'x' }), /nmae/)
    await assert.rejects(prompt('{{#a}}{{/a}}', {}), /"a"/)
    await assert.rejects(
      prompt('{{.x}}', {}),
      /unknown_name: The template uses ".x", which is outside of any section\.$/,
    )
    await assert.rejects(prompt('{{constructor}}', { a: 1 }), /constructor/)
    await assert.rejects(prompt('{{#x}}{{a..b}}{{/x}}', { x: 1, a: {} }), /bad_path/)
  })

  test('keeps the limit of texts, and is fast for hostile templates', async () => {
    const refused = /too_large: /
    const list = Array.from({ length: 3000 }, () => 'x')
    const nested = '{{#a}}{{#b}}{{#c}}x{{/c}}{{/b}}{{/a}}'
    await soon(() => assert.rejects(prompt(nested, { a: list, b: list, c: list }), refused))
    await soon(() => assert.rejects(prompt('{{#a}}{{b}}{{/a}}', { a: list, b: 'y'.repeat(10_000) }), refused))
    await soon(() => assert.rejects(prompt('{{#a}}{{^b}}{{/b}}{{/a}}'.repeat(4000), { a: list, b: 1 }), refused))
    const many = Array(20_000).fill({})
    await soon(() => assert.rejects(prompt('{{#a}}{{#a}}{{/a}}{{/a}}', { a: many }), refused))
    const path = '.x'.repeat(49_900)
    await soon(() => assert.rejects(prompt(`{{#a}}{{${path}}}{{/a}}`, { a: many }), refused))
    await soon(() => assert.rejects(prompt(`{{#a}}{{b${path}}}{{/a}}`, { a: many, b: {} }), refused))
    const places = '{{b.c}}'.repeat(100_000)
    assert.equal(await soon(() => prompt(places, { b: { c: '' } })), '')
    assert.match(problems('prompt.Template', { template: `${places}{{b}}` })[0]!, /more than 100,000 tags\.$/)
    assert.equal(String(await soon(() => prompt('{{'.repeat(500_000)))).length, 1_000_000)
  })

  test('without tags is the text itself, whatever it is', () => {
    const property = fc.property(fc.string({ unit: fc.constantFrom('{', '}', '#', 'a', ' ', '{{', '}}') }), (text) => {
      fc.pre(!/\{\{[#^/]?[^{}]*\}\}/.test(text))
      assert.equal(renderPromptTemplate(parsePromptTemplate(text), {}), text)
    })
    fc.assert(property, { numRuns: scaled(300) })
  })
})
