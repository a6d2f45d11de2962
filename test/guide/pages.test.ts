// The pages of the guide: all are listed, and every link leads to a page and a heading that exist.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { listGuidePages } from '../../src/http/documentation/guide.ts'
import { headingAnchor } from '../../src/http/documentation/markdown.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { loadExamples } from '../../src/workflows/examples.ts'
import { readGuidePage } from '../helpers/documents.ts'

const FOLDER = new URL('../../spec/guide/', import.meta.url)
const NAMES = readdirSync(FOLDER)
  .map((file) => file.replace(/\.md$/, ''))
  .sort()

/** The page without its code blocks. */
const prose = (name: string) => readGuidePage(name).replace(/```[\s\S]*?```/g, '')
const anchorsOf = (name: string) =>
  [...prose(name).matchAll(/^#+ (.*)$/gm)].map(([, title]) => headingAnchor(title!.replaceAll('`', '')))

describe('the guide', () => {
  test('lists every page once, under its title', () => {
    const listed = listGuidePages(readGuidePage('README')).flatMap(({ pages }) => pages)
    assert.deepEqual(['README', ...listed.map(({ name }) => name)].sort(), NAMES)
    for (const { name, title } of listed) assert.equal(/^# (.*)/.exec(readGuidePage(name))?.[1], title)
  })

  for (const name of NAMES) {
    test(`${name}: every link leads to something`, () => {
      for (const [, target] of prose(name).matchAll(/\]\(([^)]+)\)/g)) {
        if (/^https?:/.test(target!)) continue
        const [file, anchor] = target!.split('#') as [string, string?]
        if (file !== '') assert.ok(existsSync(new URL(file, FOLDER)), target)
        const page = file === '' ? name : file.replace(/\.md$/, '')
        if (anchor !== undefined) assert.ok(anchorsOf(page).includes(anchor), `${target} has no such heading`)
      }
    })

    test(`${name}: has each heading once`, () => {
      const anchors = anchorsOf(name)
      assert.deepEqual(anchors, [...new Set(anchors)])
    })

    test(`${name}: names tests that exist, and targets of the Makefile`, () => {
      const page = readGuidePage(name)
      for (const [, path] of page.matchAll(/<!-- tested: (\S+)/g))
        assert.ok(existsSync(new URL(`../../${path}`, import.meta.url)), path)
      const makefile = readFileSync(new URL('../../Makefile', import.meta.url), 'utf8')
      for (const [, target] of page.matchAll(/(?:`|^)make ([a-z-]+)/gm))
        assert.match(makefile, new RegExp(`^${target}:`, 'm'))
    })
  }

  test('the page on nodes tells how many node types there are', () => {
    assert.match(readGuidePage('nodes'), new RegExp(`There are ${builtinRegistry.all().length} node types`))
  })

  test('shows every example with its name and its purpose', () => {
    const page = readGuidePage('examples')
    for (const { id, description } of loadExamples().values())
      assert.ok(page.includes(`\n| \`${id}\` | ${description} | `), `the example ${id}`)
  })
})
