import { useApp } from '../app.ts'
import { ActionButton } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { Loaded } from './loaded.tsx'

/** Shown once there is a choice: one is always there, and says what the settings say. */
export function AgentProfiles() {
  const { api, toasts } = useApp()
  const load = useLoad(signal => api.listAgentProfiles({ signal }))
  return (
    <Loaded load={load}>
      {({ profiles, active_agent_profile_id: active }) =>
        profiles.length > 1 && (
          <div class="group stack">
            <h3>{t('Agent profiles')}</h3>
            <p class="quiet">
              {t('Ready-made agents under a name, stored over the API. The chosen one is offered first.')}
            </p>
            <ul class="settings-list">
              {profiles.map(({ id, name, llm_profile_ref: model }) => (
                <li key={name} class="settings-row">
                  <div class="settings-row-text">
                    <strong>{name}</strong> {id === active && <span class="settings-badge">{t('Chosen')}</span>}
                    {model && <p class="quiet">{t('Thinks with {model}', { model })}</p>}
                  </div>
                  {id !== active && id !== null && (
                    <ActionButton
                      label={t('Choose {name}', { name })}
                      action={async () => {
                        await api.activateAgentProfile({ params: { profile_id: id } })
                        await load.again()
                        toasts.say(t('{name} is offered first now', { name }))
                      }}
                    >
                      {t('Choose')}
                    </ActionButton>
                  )}
                </li>
              ))}
            </ul>
          </div>
        )
      }
    </Loaded>
  )
}
