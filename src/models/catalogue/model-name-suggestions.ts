// Which name may have been meant, to follow a sentence that says that there is none as it was written.
import { findNearest } from '../../engine/node-api/did-you-mean.ts'

/** Where there is no name near it. */
export const MODEL_LIST_HINT = ' GET /v1/models lists the models that there are.'

/** Among more names than these nobody looks for the nearest: it would be slow. */
const MAX_COMPARED_NAMES = 1_000

/** ` Did you mean "openai/gpt-4o"?`, by the nearest of the names as `id` shows it; or where to look. */
export function didYouMean(written: string, names: readonly string[], id: (name: string) => string): string {
  const near = names.length > MAX_COMPARED_NAMES ? null : findNearest(written, names)
  return near === null ? MODEL_LIST_HINT : ` Did you mean "${id(near)}"?`
}

/** The same for the provider of an id `provider/name`. */
export function suggestProvider(model: string, providers: readonly { readonly name: string }[]): string {
  const slash = model.indexOf('/')
  const names = providers.map(({ name }) => name)
  return didYouMean(model.slice(0, slash), names, (name) => `${name}${model.slice(slash, slash + MAX_SHOWN_LENGTH)}`)
}

/** How much of the rest of a name is shown. */
const MAX_SHOWN_LENGTH = 100

/** The same for a model of one provider, by what this lists. */
export function suggestModel(provider: string, name: string, models: readonly { readonly name: string }[]): string {
  const names = models.map((one) => one.name)
  return didYouMean(name, names, (near) => `${provider}/${near}`)
}
