import { type ReadonlySignal, signal } from '@preact/signals'

/** Where the page is: all of it stands behind the #, so that it never meets an address of the API. */
export interface Route {
  /** `#/c/ID/files` is ['c', ID, 'files']; `#/` is []. */
  path: readonly string[]
  query: URLSearchParams
}

export function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) }
}

/** A link that was cut in the middle of a character leads nowhere, but does not break the page. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const hrefTo = (path: readonly string[], query: Record<string, string> = {}): string => {
  const search = new URLSearchParams(query)
  return `#/${path.map(encodeURIComponent).join('/')}${search.size > 0 ? `?${search}` : ''}`
}

export interface Router {
  readonly route: ReadonlySignal<Route>
  go(path: readonly string[], query?: Record<string, string>): void
  /** Without leaving a step to go back to. */
  replace(path: readonly string[], query?: Record<string, string>): void
}

export function startRouter(): Router {
  const route = signal(parse(location.hash))
  window.addEventListener('hashchange', () => {
    if (location.hash === '' || location.hash.startsWith('#/')) route.value = parse(location.hash)
  })
  return {
    route,
    go(path, query) {
      location.hash = hrefTo(path, query)
    },
    replace(path, query) {
      history.replaceState(null, '', hrefTo(path, query))
      route.value = parse(location.hash)
    },
  }
}
