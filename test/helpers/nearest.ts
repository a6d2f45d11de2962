// Runs the tests next to the changes since the last commit, or since the one before it where nothing has changed. `src/jobs/x.ts` belongs
// to `test/jobs/`, a change of the contract to `test/contract/`.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'

/** Folders of tests by the prefix of a changed path. The first match counts. Otherwise `src/<folder>` belongs to `test/<folder>`. */
const NEAR: readonly (readonly [RegExp, string | null])[] = [
  [/^spec\/guide\//, 'test/guide'],
  [/^(spec|generated|src\/codegen|codegen\.config)/, 'test/contract'],
  [/^src\/contract\//, 'test/contract-diff'],
  [/^test\/(browser|generators|local)\//, null],
  [/^test\/(\w+)\//, 'test/$1'],
  [/^src\/(\w+)\//, 'test/$1'],
  [/^src\/(main|server|config|version|platform|log)\.ts$/, 'test/process'],
  [/^src\/\w+\.ts$/, 'test/http'],
  [/^(README\.md|src\/workflows\/examples)/, 'test'],
]

function git(...args: string[]): string[] {
  return execFileSync('git', args, { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '')
}

function changedFiles(): string[] {
  const open = [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')]
  return open.length > 0 ? open : git('diff', '--name-only', 'HEAD~1', 'HEAD')
}

function testsFor(path: string): string[] {
  const rule = NEAR.find(([pattern]) => pattern.test(path))
  if (!rule?.[1]) return []
  const folder = path.match(rule[0])![0].replace(rule[0], rule[1])
  return folder === 'test' ? globSync('test/*.test.ts') : globSync(`${folder}/**/*.test.ts`)
}

const files = [...new Set(changedFiles().flatMap(testsFor))].filter((file) => existsSync(file)).sort()
if (files.length === 0) console.log('no test is near to the change')
else
  process.exitCode =
    spawnSync(process.execPath, ['test/helpers/run-tests.ts', ...files], { stdio: 'inherit' }).status ?? 1
