import { useApp } from '../app.ts'
import { t } from '../words.ts'
import { Marketplaces } from './marketplaces.tsx'
import { Packages } from './packages.tsx'

export function SkillsSection() {
  const { api } = useApp()
  return (
    <>
      <Packages
        title={t('Skills')}
        none={t('No skills installed')}
        hint={t('Instructions that an agent reads when they fit its task.')}
        install={t('Install a skill')}
        verbs={{
          list: async signal => (await api.listInstalledSkills({ signal })).skills,
          offers: async signal => (await api.skillMarketplace({ signal })).skills,
          install: body => api.installSkill({ body }),
          enable: (skill_name, enabled) => api.setSkillEnabled({ params: { skill_name }, body: { enabled } }),
          refresh: skill_name => api.refreshSkill({ params: { skill_name } }),
          remove: skill_name => api.uninstallSkill({ params: { skill_name } }),
        }}
      />
      <Packages
        title={t('Plugins')}
        none={t('No plugins installed')}
        hint={t('Used by conversations that name them. They run what they bring: install only what you trust.')}
        install={t('Install a plugin')}
        verbs={{
          list: async signal => (await api.listInstalledPlugins({ signal })).plugins,
          offers: async signal => (await api.pluginMarketplace({ signal })).plugins,
          install: body => api.installPlugin({ body }),
          enable: (plugin_name, enabled) => api.setPluginEnabled({ params: { plugin_name }, body: { enabled } }),
          refresh: plugin_name => api.refreshPlugin({ params: { plugin_name } }),
          remove: plugin_name => api.uninstallPlugin({ params: { plugin_name } }),
        }}
      />
      <Marketplaces />
    </>
  )
}
