// The names that spec/glossary.md has retired stay retired: one thing has one name.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, sep } from 'node:path'
import { describe, test } from 'node:test'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '..')

/** The identifiers in the last column of the tables. */
function retiredNames(glossary: string): string[] {
  const columns = glossary.split('\n').map((line) => /^\|.*\|([^|]*)\|$/.exec(line)?.[1] ?? '')
  return columns.flatMap((column) => [...column.matchAll(/`([^`]+)`/g)].map(([, name]) => name!))
}

function exportedNames(path: string): string[] {
  const source = ts.createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ts.ScriptTarget.Latest)
  return source.statements.flatMap((statement) => (isExported(statement) ? declaredNames(statement, source) : []))
}

function isExported(statement: ts.Statement): boolean {
  if (!ts.canHaveModifiers(statement)) return false
  return ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false
}

function declaredNames(statement: ts.Statement, source: ts.SourceFile): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText(source))
  return 'name' in statement ? [(statement.name as ts.Identifier).text] : []
}

const kebab = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()

const retired = retiredNames(readFileSync(join(ROOT, 'spec/glossary.md'), 'utf8'))
const paths = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => join('src', path))

describe('a name that the glossary has retired', () => {
  test('is exported by no file', () => {
    assert.ok(retired.length > 20)
    const used = paths.flatMap((path) =>
      exportedNames(path)
        .filter((name) => retired.includes(name))
        .map((name) => `${path} exports ${name}`),
    )
    assert.deepEqual(used, [])
  })

  test('names no file of a room; in a folder of a room the folder may tell the rest', () => {
    const files = new Set(retired.map((name) => `${kebab(name)}.ts`))
    const ofRooms = paths.filter((path) => path.split(sep).length === 3)
    assert.ok(ofRooms.length > 100)
    assert.deepEqual(
      ofRooms.filter((path) => files.has(basename(path))),
      [],
    )
  })

  test('is read from the last column of the tables', () => {
    const page = '| `Job` | a run | `Run`, `Task` |\n| word | what it is | |\n| `Other` |'
    assert.deepEqual(retiredNames(page), ['Run', 'Task'])
    assert.equal(kebab('ToldFailure'), 'told-failure')
  })
})
