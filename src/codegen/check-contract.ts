// `make check-contract`: under one version of the contract nothing may break, and only a version whose number says so may break an earlier one.
// The publication is compared with those of its version that the history has (beyond a hundred with a sample of them), because what the first of them
// had only planned may have been relied on since, and with the last one of the highest version before it.
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { diffPublications } from '../contract/diff.ts'
import type { Difference } from '../contract/difference.ts'
import type { Publication } from '../contract/files.ts'
import { readPublication } from '../contract/publication.ts'
import { compareVersions, mayBreak, type Version, versionOf } from './contract-version.ts'
import { FOLDER, type Published, publicationAt, publications, spread } from './publication-history.ts'

const expected = process.env.SVC_TEST_EXPECT?.split(',').includes('history') === true

function without(history: string): number {
  if (!expected) console.log(`skipped: ${history}`)
  else console.error(`${history}, and it is expected`)
  return expected ? 1 : 0
}

const short = (commit: string) => commit.slice(0, 12)

interface Break extends Difference {
  readonly commit: string
}

/** What breaks somebody who goes by one of these commits, each thing once. */
function breaksSince(repository: string, commits: readonly string[], now: Publication): Break[] {
  const found = new Map<string, Break>()
  for (const commit of commits) {
    for (const one of diffPublications(publicationAt(repository, commit), now)) {
      const key = `${one.place}\n${one.message}\n${one.rule}`
      if (one.verdict === 'breaking' && !found.has(key)) found.set(key, { ...one, commit })
    }
  }
  return [...found.values()]
}

function tell(breaks: readonly Break[]): void {
  for (const { place, message, rule, commit } of breaks)
    console.error(`breaking ${place} ${message} (${rule}), as published in ${short(commit)}`)
}

/** How many things break what was published under the same version. */
function underItsVersion(repository: string, published: readonly Published[], now: Publication): number {
  const version = now.contract_version
  if (published.length === 0) {
    console.log(`version ${version} is new: no commit has a publication of it`)
    return 0
  }
  const earlier = published.filter(({ digest }) => digest !== now.digest).map(({ commit }) => commit)
  const compared = spread(earlier)
  const breaks = breaksSince(repository, compared, now)
  const number = compared.length < earlier.length ? `${compared.length} of ${earlier.length}` : `${earlier.length}`
  const since = short(published[0]!.commit)
  console.log(
    `the contract against ${number} earlier publications of version ${version}, since ${since}: ${breaks.length} breaking`,
  )
  tell(breaks)
  return breaks.length
}

/** How many things break the version before without the number that says so. */
function sinceVersion(repository: string, before: Published, now: Publication, allowed: boolean): number {
  const breaks = breaksSince(repository, [before.commit], now)
  const so = allowed && breaks.length > 0 ? ', as its number says' : ''
  console.log(
    `the contract against the last publication of version ${before.version}, ${short(before.commit)}: ${breaks.length} breaking${so}`,
  )
  if (allowed) return 0
  tell(breaks)
  return breaks.length
}

interface Numbered extends Published {
  readonly number: Version
}

/** The publications whose version is one, from the lowest version to the highest, and of one version the last one last. */
function ascending(all: readonly Published[]): Numbered[] {
  return all
    .flatMap((one) => {
      const number = versionOf(one.version)
      return number ? [{ ...one, number }] : []
    })
    .sort((a, b) => compareVersions(a.number, b.number) || a.last - b.last)
}

function refused(reason: string): number {
  console.error(reason)
  return 3
}

function main(): number {
  const { positionals } = parseArgs({ allowPositionals: true })
  const repository = resolve(positionals[0] ?? join(import.meta.dirname, '../..'))
  const now = readPublication(join(repository, FOLDER))
  const version = now.contract_version
  const number = versionOf(version)
  if (!number) return refused(`${version} is no version of three numbers`)
  const all = publications(repository)
  if ('unseen' in all) return without(all.unseen)
  const numbered = ascending(all)
  const highest = numbered.at(-1)
  if (!highest) return without('no commit has a publication of the contract yet')
  if (compareVersions(number, highest.number) < 0)
    return refused(`version ${version} is lower than ${highest.version}, as published in ${short(highest.commit)}`)
  const same = all.filter((one) => one.version === version)
  const before = numbered.findLast((one) => compareVersions(one.number, number) < 0)
  const broken =
    underItsVersion(repository, same, now) +
    (before ? sinceVersion(repository, before, now, mayBreak(number, before.number)) : 0)
  if (broken === 0) return 0
  return refused('Raise info.version in spec/openapi.yaml and spec/asyncapi.yaml, or take the changes back.')
}

process.exitCode = main()
