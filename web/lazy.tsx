import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Loading, Problem } from './ui/kit.tsx'

/** A view that is fetched when it is first needed. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined
  return function Lazy(props: P) {
    const [, redraw] = useState(0)
    const [problem, setProblem] = useState<unknown>()
    const fetchIt = () => {
      setProblem(undefined)
      load().then(component => {
        loaded = component
        redraw(1)
      }, setProblem)
    }
    useEffect(() => {
      if (!loaded) fetchIt()
    }, [])
    if (loaded) {
      const View = loaded
      return <View {...props} />
    }
    return problem === undefined ? <Loading /> : <Problem error={problem} again={fetchIt} />
  }
}
