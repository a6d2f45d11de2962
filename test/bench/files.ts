// Files: large ones, small ones, parts of them, lists of them, and images from workflows.
import type { BenchRow } from './engine.ts'
import { benchImages } from './files-images.ts'
import { benchLargeFiles } from './files-large.ts'
import { benchAssetLists } from './files-list.ts'
import { benchSmallFiles } from './files-small.ts'

export async function benchFiles(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const bench of [benchLargeFiles, benchSmallFiles, benchAssetLists, benchImages]) rows.push(...(await bench()))
  return rows
}
