// Suggests a similar name of a model or provider, as the end of an error message for an unknown name.
import { findNearest } from '../../engine/node-api/did-you-mean.ts'

/** The hint where no name is similar. */
export const MODEL_LIST_HINT = ' GET /v1/models lists the models that there are.'

/** With more names than this the search would be slow, and is left out. */
const MAX_COMPARED_NAMES = 1_000

/** ` Did you mean "openai/gpt-4o"?`, with the nearest name in the form that `id` gives; or else where the models are listed. */
export function didYouMean(written: string, names: readonly string[], id: (name: string) => string): string {
  const near = names.length > MAX_COMPARED_NAMES ? null : findNearest(written, names)
  return near === null ? MODEL_LIST_HINT : ` Did you mean "${id(near)}"?`
}

/** Like `didYouMean`, for the provider of an id `provider/name`. */
export function suggestProvider(model: string, providers: readonly { readonly name: string }[]): string {
  const slash = model.indexOf('/')
  const names = providers.map(({ name }) => name)
  return didYouMean(model.slice(0, slash), names, (name) => `${name}${model.slice(slash, slash + MAX_SHOWN_LENGTH)}`)
}

/** How much of the rest of a name is shown. */
const MAX_SHOWN_LENGTH = 100

/** Like `didYouMean`, for a model of one provider, with its listed models. */
export function suggestModel(provider: string, name: string, models: readonly { readonly name: string }[]): string {
  const names = models.map((model) => model.name)
  return didYouMean(name, names, (near) => `${provider}/${near}`)
}
