// There is one version number: of the service, its contract, and the package that brings Node.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { version } from '../src/version.ts'

test('the service, its contract and its packages have the same version', () => {
  const read = (path: string) => JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'))
  const versions = {
    'package.json': read('package.json').version,
    'package-lock.json': read('package-lock.json').version,
    'src/launch/package.json': read('src/launch/package.json').version,
    'generated/openapi.json': read('generated/openapi.json').info.version,
    'generated/asyncapi.json': read('generated/asyncapi.json').info.version,
    'generated/lifecycle-v1/package.json': read('generated/lifecycle-v1/package.json').version,
  }
  for (const [path, found] of Object.entries(versions)) assert.equal(found, version, path)
})
